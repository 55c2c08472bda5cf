#!/usr/bin/env python3
"""Runs real programs as they are, with the agent, and with the agent and the JDK's own classes, and compares what they print.

programs.py VERSION=COMMAND... -- [NAME...]

Prints a row of a Markdown table for each program and Java version: whether both streams and the exit code are those of the plain run, and how many methods the map has, that is,
how many were traced. With the JDK's own classes, which are all that --jdk takes, the JVM verifies every class.
"""
import difflib, glob, os, re, shutil, subprocess, sys, tempfile, zipfile

SHARE = "/usr/share/java/"
HERE = os.path.dirname(os.path.abspath(__file__))


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def javac(out, sources, *options, release=8):
    """Compiles for the oldest Java that runs the program."""
    subprocess.run(["javac", "-nowarn", "-Xlint:-options", "--release", str(release), "-d", out, *options, *sources], check=True)


def jars(*names):
    return ":".join(SHARE + name + ".jar" for name in names)


def maven(work, version):
    write(work + "/pom.xml", """<project><modelVersion>4.0.0</modelVersion>
<groupId>com.example</groupId><artifactId>shop</artifactId><version>1</version><packaging>pom</packaging>
<modules><module>one</module><module>two</module></modules></project>""")
    for module in "one", "two":
        write(work + "/%s/pom.xml" % module, """<project><modelVersion>4.0.0</modelVersion>
<parent><groupId>com.example</groupId><artifactId>shop</artifactId><version>1</version></parent>
<artifactId>%s</artifactId><packaging>pom</packaging></project>""" % module)
    boot = glob.glob("/usr/share/maven/boot/plexus-classworlds-*.jar")[0]
    return ["-cp", boot, "-Dclassworlds.conf=/usr/share/maven/bin/m2.conf", "-Dmaven.home=/usr/share/maven",
            "-Dmaven.multiModuleProjectDirectory=" + work, "org.codehaus.plexus.classworlds.launcher.Launcher",
            "-o", "-B", "-Dstyle.color=never", "-Dmaven.repo.local=" + work + "/repository", "validate"]


def ant(work, version):
    write(work + "/build.xml", """<project default="all"><target name="copy"><mkdir dir="out"/><copy todir="out"><fileset dir="." includes="build.xml"/></copy>
<checksum file="out/build.xml" property="sum"/></target><target name="all" depends="copy"><echo>sum ${sum}</echo><zip destfile="out/all.zip" basedir="out" includes="*.xml"/>
</target></project>""")
    return ["-cp", jars("ant-launcher"), "-Dant.home=/usr/share/ant", "org.apache.tools.ant.launch.Launcher", "-q", "-f", "build.xml"]


def groovy(work, version):
    write(work + "/words.groovy", """
def words = (1..2000).collect { "word" + (it * 7919 % 101) }
def counts = words.groupBy { it }.collectEntries { word, all -> [word, all.size()] }
class Node { def left, right; int depth() { 1 + Math.max(left ? left.depth() : 0, right ? right.depth() : 0) } }
def tree = { int n -> n == 0 ? null : new Node(left: owner.call(n - 1), right: owner.call(n - 1)) }
println counts.sort { -it.value }.take(5)
println((1..200).collect { it ** 2 }.findAll { it % 3 == 0 }.sum())
println new Node(left: new Node(), right: new Node(left: new Node())).depth()
""")
    libraries = ":".join(sorted(glob.glob("/usr/share/groovy/lib/*.jar")))
    # Groovy 2.4 reflects on the JDK's own classes.
    opens = [word for name in ("java.lang", "java.util", "java.util.function") for word in ("--add-opens", "java.base/%s=ALL-UNNAMED" % name)] if version > 8 else []
    return opens + ["-cp", libraries, "groovy.ui.GroovyMain", "words.groovy"]


def jython(work, version):
    write(work + "/primes.py", "sieve = [n for n in range(2, 3000) if all(n % d for d in range(2, int(n ** 0.5) + 1))]\nprint(len(sieve), sum(sieve))\n"
          "import json, re\nprint(json.dumps({'a': [1, 2, {'b': None}]}, sort_keys=True), re.findall('a+', 'caaandaab'))\n")
    return ["-Dpython.cachedir.skip=true", "-Dpython.home=/usr/share/jython", "-jar", SHARE + "jython.jar", "primes.py"]


def jruby(work, version):
    write(work + "/words.rb", "words = (1..3000).map { |n| 'w%d' % (n * 31 % 97) }\nputs words.group_by { |w| w }.map { |w, all| [w, all.size] }.sort_by { |w, c| [-c, w] }.first(4).inspect\n"
          "puts (1..20).inject { |a, b| a * b }\nclass Tree; def initialize(n); @kids = Array.new(n) { Tree.new(n - 1) }; end; def size; 1 + @kids.sum(&:size); end; end\nputs Tree.new(6).size\n")
    return ["-Djruby.home=/usr/share/jruby", "-Djruby.lib=/usr/share/jruby/lib", "-cp", "/usr/share/jruby/lib/jruby.jar", "org.jruby.Main", "words.rb"]


def tomcat(work, version):
    source = write(work + "/src/Shop.java", """
import jakarta.servlet.http.*;
import java.net.*;
import org.apache.catalina.startup.Tomcat;

public final class Shop {
    public static final class Page extends HttpServlet {
        @Override protected void doGet(HttpServletRequest request, HttpServletResponse response) throws java.io.IOException {
            response.getWriter().print("page " + request.getParameter("n") + " " + total(Integer.parseInt(request.getParameter("n"))));
        }
        static long total(int n) { long sum = 0; for (int i = 0; i < n; i++) { sum += price(i); } return sum; }
        static long price(int i) { return Math.floorMod(i * 7919L, 101); }
    }

    public static void main(String[] arguments) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(arguments[0]);
        tomcat.setPort(0);
        var context = tomcat.addContext("", arguments[0]);
        Tomcat.addServlet(context, "page", new Page());
        context.addServletMappingDecoded("/page", "page");
        tomcat.start();
        int port = tomcat.getConnector().getLocalPort();
        for (int n = 0; n < 40; n++) {
            try (var in = new URL("http://127.0.0.1:" + port + "/page?n=" + n).openStream()) {
                System.out.println(new String(in.readAllBytes()));
            }
        }
        tomcat.stop();
        tomcat.destroy();
        System.out.println(Shop.class.getProtectionDomain().getCodeSource().getLocation().getPath().endsWith("/classes/"));
    }
}
""")
    path = jars("tomcat10-embed-core", "tomcat10-embed-el", "jakarta-annotation-api")
    javac(work + "/classes", [source], "-cp", path, release=11)
    return ["-cp", work + "/classes:" + path, "Shop", work + "/base"]


def bundle(work, name, source, manifest):
    """A jar of a class, and a manifest."""
    path = write(work + "/src/%s/%s.java" % (name, name.capitalize()), source)
    javac(work + "/" + name, [path], "-cp", SHARE + "eclipse-osgi.jar")
    with zipfile.ZipFile(work + "/%s.jar" % name, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", manifest)
        for file in glob.glob(work + "/%s/**/*.class" % name, recursive=True):
            jar.write(file, os.path.relpath(file, work + "/" + name))


def osgi(work, version, *options):
    bundle(work, "hello", """package hello;
import org.osgi.framework.*;
public class Hello implements BundleActivator {
    public void start(BundleContext context) throws Exception {
        System.out.println("started " + sum(100) + " " + getClass().getClassLoader().getClass().getSimpleName());
        new Thread(() -> { try { context.getBundle(0).stop(); } catch (BundleException e) { e.printStackTrace(); } }).start();
    }
    static int sum(int n) { int sum = 0; for (int i = 0; i < n; i++) { sum += half(i); } return sum; }
    static int half(int n) { return n / 2; }
    public void stop(BundleContext context) { System.out.println("stopped"); }
}
""", "Manifest-Version: 1.0\nBundle-ManifestVersion: 2\nBundle-SymbolicName: hello\nBundle-Version: 1\nBundle-Activator: hello.Hello\nImport-Package: org.osgi.framework\n\n")
    write(work + "/configuration/config.ini", "osgi.bundles=reference:file:%s/hello.jar@start\nosgi.noShutdown=false\neclipse.ignoreApp=true\n" % work)
    return [*options, "-jar", SHARE + "eclipse-osgi.jar", "-clean", "-configuration", work + "/configuration"]


def osgi_delegation(work, version):
    """With the one package that the framework has to delegate to the boot loader, its bundles are traced."""
    return osgi(work, version, "-Dorg.osgi.framework.bootdelegation=dev.anrscope")


def modules(work, version):
    write(work + "/src/lib/module-info.java", "module lib { exports lib; }")
    write(work + "/src/lib/lib/Prices.java", "package lib; public class Prices { public static int of(int n) { return half(n) + 1; } static int half(int n) { return n / 2; } }")
    write(work + "/src/app/module-info.java", "module app { requires lib; }")
    write(work + "/src/app/app/Main.java", """package app;
public class Main {
    static final class Item {
        private final String name;
        private final int price;
        Item(String name, int price) { this.name = name; this.price = price; }
        int price() { return price + name.length() - name.length(); }
    }
    public static void main(String[] arguments) {
        var items = java.util.stream.IntStream.range(0, 50).mapToObj(n -> new Item("i" + n, lib.Prices.of(n))).collect(java.util.stream.Collectors.toList());
        System.out.println(items.stream().mapToInt(Item::price).sum() + " " + Main.class.getModule() + " " + Main.class.getModule().canRead(Object.class.getModule()));
    }
}
""")
    javac(work + "/mods", glob.glob(work + "/src/**/*.java", recursive=True), "--module-source-path", work + "/src", release=11)
    return ["-p", work + "/mods", "-m", "app/app.Main"]


def nested(work, version):
    """Jars in a jar, opened by a loader of their own, as Spring Boot's launcher does."""
    inner = write(work + "/src/inner/Work.java", "package inner; public class Work implements Runnable { public void run() { int sum = 0; for (int i = 0; i < 10; i++) { sum += twice(i); } "
                  "System.out.println(\"work \" + sum + \" \" + getClass().getResource(\"Work.class\").getProtocol()); } static int twice(int n) { return 2 * n; } }")
    outer = write(work + "/src/Launcher.java", """
import java.io.*; import java.net.*; import java.security.*; import java.util.*; import java.util.jar.*;
public class Launcher extends SecureClassLoader {
    private final Map<String, byte[]> entries = new HashMap<>();
    private final ProtectionDomain domain;
    Launcher() throws Exception {
        domain = new ProtectionDomain(new CodeSource(new URL("file:app.jar!/inner.jar"), (CodeSigner[]) null), null);
        try (JarInputStream in = new JarInputStream(Launcher.class.getResourceAsStream("/inner.jar"))) {
            for (JarEntry entry; (entry = in.getNextJarEntry()) != null;) {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                for (int b; (b = in.read()) >= 0;) { bytes.write(b); }
                entries.put(entry.getName(), bytes.toByteArray());
            }
        }
    }
    @Override protected Class<?> findClass(String name) throws ClassNotFoundException {
        byte[] bytes = entries.get(name.replace('.', '/') + ".class");
        if (bytes == null) { throw new ClassNotFoundException(name); }
        return defineClass(name, bytes, 0, bytes.length, domain);
    }
    @Override protected URL findResource(String name) {
        try { return entries.containsKey(name) ? new URL("mem", "", -1, name, new URLStreamHandler() { protected URLConnection openConnection(URL u) { return null; } }) : null; }
        catch (MalformedURLException e) { return null; }
    }
    public static void main(String[] arguments) throws Exception {
        ((Runnable) new Launcher().loadClass("inner.Work").getDeclaredConstructor().newInstance()).run();
    }
}
""")
    javac(work + "/inner", [inner])
    javac(work + "/outer", [outer])
    with zipfile.ZipFile(work + "/inner.jar", "w") as jar:
        jar.write(work + "/inner/inner/Work.class", "inner/Work.class")
    with zipfile.ZipFile(work + "/app.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nMain-Class: Launcher\n\n")
        jar.write(work + "/inner.jar", "inner.jar")
        for file in glob.glob(work + "/outer/*.class"):
            jar.write(file, os.path.basename(file))
    return ["-jar", "app.jar"]


PROGRAMS = {"maven": maven, "ant": ant, "groovy": groovy, "jython": jython, "jruby": jruby, "tomcat": tomcat, "osgi": osgi,
            "osgi-delegation": osgi_delegation, "modules": modules, "nested": nested}
# All of the JDK that can be traced.
JDK = ["--jdk", "java,javax,jdk,sun,com.sun,org"]
# The Java version that a program needs, if not 8.
OLDEST = {"tomcat": 11, "modules": 11}
# The JVM's warning about the program's own use of sun.misc.Unsafe: `anrscope jvm` allows that use from Java 24 on (docs/jvm.md).
UNSAFE = r"WARNING: A terminally deprecated method in sun.misc.Unsafe has been called\n(WARNING: .*\n){3}"
# What they print of the time and the machine.
MASKED = [r"\[INFO\] Total time:.*", r"\[INFO\] Finished at:.*", r"SUCCESS \[ *[\d.]+ m?s\]", r"Total time: .*", r"\d{4}-\d\d-\d\dT[\d:.]+Z"]


def masked(text):
    text = re.sub(UNSAFE, "", text)
    for pattern in MASKED:
        text = re.sub(pattern, "*", text)
    return text


def run(command, work, environment=None):
    return subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=900,
                          env={**os.environ, **(environment or {})})


def shown(done):
    """What a run shows its user: exit code and both streams."""
    return done.returncode, masked(done.stdout), masked(done.stderr)


def difference(plain, agent):
    """The lines that differ between two results of `shown`."""
    lines = lambda parts: "\n".join(map(str, parts)).splitlines()
    return "\n".join("    " + line for line in difflib.unified_diff(lines(plain), lines(agent), "plain", "with the agent", lineterm="", n=0))[:4000]


def anrscope(kept, java, *options):
    """The command of a traced run that keeps its files in a directory, up to java's own arguments."""
    return [os.environ["ANRSCOPE_PROGRAM"], "jvm", "--quiet", *options, "--out", kept + ".pftrace", "--keep", kept, "--", *java]


# Each map has this row of Android's.
DISPATCH = "1048574,"


def map_lines(kept):
    for path in glob.glob(kept + "/methodMapping*.txt"):
        with open(path, encoding="utf-8", errors="replace") as lines:
            yield from (line for line in lines if line[:1].isdigit() and not line.startswith(DISPATCH))


def traced(kept):
    return sum(1 for _ in map_lines(kept))


def feature(version):
    """17 of 17-zero."""
    return int(version.split("-")[0])


def javas_and_names(words):
    """VERSION=COMMAND... -- NAME... as pairs of a version and a command, and the names."""
    at = words.index("--")
    javas = [word.split("=", 1) for word in words[:at]]
    return [(version, command.split(" ")) for version, command in javas], words[at + 1:]


def compare(name, version, java):
    """Runs a program in three ways and prints a row. Returns whether the agent's run differs, whether it traced nothing, and whether the one with the
    JDK's classes differs or has none of them."""
    work = tempfile.mkdtemp(prefix="anrscope-%s-" % name)
    try:
        arguments = PROGRAMS[name](work, feature(version))
        plain = run([*java, *arguments], work)
        row = []
        for form, own, more in ("agent", [], []), ("jdk", JDK, ["-Xverify:all"]):
            kept = work + "/kept-" + form
            done = run([*anrscope(kept, java, *own), *more, *arguments], work)
            row.append((traced(kept), shown(done) == shown(plain), done))
        (agent, same, done), (with_jdk, jdk_same, jdk_done) = row
        words = {True: "the same", False: "ANOTHER"}
        print("| %s | %s | %d | %d | %s | %s |" % (name, version, agent, with_jdk, words[same], words[jdk_same]), flush=True)
        if plain.returncode != 0 or not plain.stdout:
            print("    %s: by itself it ends with %d: %s" % (name, plain.returncode, (plain.stderr or plain.stdout)[-600:]))
            return True, False, False
        if not same:
            print(difference(shown(plain), shown(done)))
        if same and not jdk_same:
            print("    with --jdk:\n" + difference(shown(plain), shown(jdk_done)))
        # It has more methods, or none of the JDK's was traced.
        return not same, agent == 0, not jdk_same or with_jdk <= agent
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    javas, names = javas_and_names(sys.argv[1:])
    print("| program | Java | methods with the agent | with --jdk | output of the agent | with --jdk |\n" + "| --- " * 6 + "|")
    rows = [compare(name, version, java) for name in names or PROGRAMS for version, java in javas if feature(version) >= OLDEST.get(name, 8)]
    failed, untraced, failed_with_jdk = (sum(row[at] for row in rows) for at in range(3))
    print("%d runs of %d real programs with the agent on Java %s: %d differ from the plain run, %d traced nothing; with the JDK's own classes too: %d differ or have none of them"
          % (len(rows), len(names or PROGRAMS), ", ".join(version for version, _ in javas), failed, untraced, failed_with_jdk))
    sys.exit(1 if failed or untraced or failed_with_jdk or not rows else 0)


if __name__ == "__main__":
    main()
