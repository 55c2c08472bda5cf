import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withTimeoutOrNull

/**
 * Suspending functions, lambdas, sequences, sealed and value classes: Kotlin's compiler turns them into state machines.
 */
sealed interface Shape {
    fun area(): Double = 0.0
}

data class Square(val side: Int) : Shape {
    override fun area() = side.toDouble() * side
}

data object Nothing2D : Shape

@JvmInline
value class Id(val number: Int)

inline fun <T> counted(counter: IntArray, body: () -> T): T =
    try {
        body()
    } finally {
        counter[0]++
    }

suspend fun step(n: Int): Int {
    if (n % 7 == 0) delay(1)
    return if (n == 0) 1 else step(n - 1) * 31 + n
}

suspend fun fails(n: Int): Int {
    delay(1)
    try {
        check(n % 3 != 0) { "no $n" }
        return n
    } catch (e: IllegalStateException) {
        if (n % 2 == 0) throw e
        return -n
    } finally {
        step(2)
    }
}

fun main() = runBlocking {
    val counter = IntArray(1)
    val results = (1..200).map { n -> async(Dispatchers.Default) { step(n % 40) } }.awaitAll()
    println(results.fold(7) { sum, n -> sum * 17 + n })

    val channel = Channel<Int>(3)
    launch(Dispatchers.IO) {
        repeat(300) { channel.send(it) }
        channel.close()
    }
    var sum = 0
    for (n in channel) sum += n
    println(sum)

    val failures = (1..60).map { n -> async(Dispatchers.Default) { runCatching { fails(n) }.fold({ "$it" }, { it.message }) } }
    println(failures.awaitAll())

    val mutex = Mutex()
    var shared = 0
    (1..8).map { launch(Dispatchers.Default) { repeat(200) { mutex.withLock { shared++ } } } }.forEach { it.join() }
    println(shared)

    println(flow { for (n in 1..10) emit(step(n)) }.map { it % 1000 }.toList())
    println(generateSequence(1) { it * 3 }.filter { it % 2 == 1 }.take(12).toList())
    println(withTimeoutOrNull(20) { try { delay(60_000) } catch (e: CancellationException) { println("cut short"); throw e } })
    val shapes = listOf(Square(3), Nothing2D, Square(4))
    println(shapes.sumOf { counted(counter) { it.area() } } to counter[0])
    println(shapes.groupBy { it::class.simpleName }.mapValues { (_, all) -> all.size })
    println(listOf(Id(4), Id(2)).sortedBy(Id::number))
}
