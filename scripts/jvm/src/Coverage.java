import java.io.File;
import java.util.Comparator;
import org.jacoco.core.analysis.Analyzer;
import org.jacoco.core.analysis.CoverageBuilder;
import org.jacoco.core.analysis.IClassCoverage;
import org.jacoco.core.tools.ExecFileLoader;

/** Prints what JaCoCo reports for a directory of classes: by class its id, whether the run had the same class, and the counters; by line what was run. */
public class Coverage {
    public static void main(String[] arguments) throws Exception {
        ExecFileLoader run = new ExecFileLoader();
        run.load(new File(arguments[0]));
        CoverageBuilder builder = new CoverageBuilder();
        new Analyzer(run.getExecutionDataStore(), builder).analyzeAll(new File(arguments[1]));
        builder.getClasses().stream().sorted(Comparator.comparing(IClassCoverage::getName)).forEach(one -> {
            System.out.println(one.getName() + " " + Long.toHexString(one.getId()) + (one.isNoMatch() ? " ANOTHER CLASS RAN" : "")
                    + " run: " + run.getExecutionDataStore().contains(one.getName()) + ", instructions " + one.getInstructionCounter()
                    + ", branches " + one.getBranchCounter());
            for (int line = one.getFirstLine(); line <= one.getLastLine(); line++) {
                System.out.print(one.getLine(line).getStatus());
            }
            System.out.println();
        });
    }
}
