package tools;

import com.google.javascript.jscomp.CompilationLevel;
import com.google.javascript.jscomp.Compiler;
import com.google.javascript.jscomp.CompilerOptions;
import com.google.javascript.jscomp.SourceFile;

/** Compiles a small script with the Closure Compiler, which must be on the class path. */
public final class CompileScript {
    public static void main(String[] arguments) {
        CompilerOptions options = new CompilerOptions();
        CompilationLevel.ADVANCED_OPTIMIZATIONS.setOptionsForCompilationLevel(options);
        Compiler compiler = new Compiler();
        SourceFile externs = SourceFile.fromCode("externs.js", "/** @externs */ var console; console.log = function(x) {};");
        SourceFile script = SourceFile.fromCode(
                "script.js",
                "class Counter { constructor(n) { this.n = n; } next() { return this.n++; } }\n"
                        + "const c = new Counter(3);\n"
                        + "for (let i = 0; i < 4; i++) { console.log(`${i}: ${c.next()}`); }\n"
                        + "function* unused() { yield 1; }\n");
        System.out.println(compiler.compile(externs, script, options).success);
        System.out.println(compiler.toSource());
    }
}
