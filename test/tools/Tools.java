import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs Kafka's command line tools one after the other in one JVM. Each line of standard input is a tool's main class and
 * its arguments, separated by tabs; the answer is its exit code, a blank, and in base64 what it printed to either stream.
 */
public final class Tools {
    /** What a tool's exit becomes: an Error, so that few tools catch it. */
    private static final class Exited extends Error {
        private static final long serialVersionUID = 1L;

        Exited() {
            super(null, null, false, false);
        }
    }

    private static ByteArrayOutputStream printed;
    /** The answer of a tool that has exited. A tool that caught its own exit goes on; what it does then does not count. */
    private static String answer;

    public static void main(String[] args) throws IOException {
        PrintStream out = System.out;
        Exit.setExitProcedure(Tools::exit);
        Exit.setHaltProcedure(Tools::exit);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            answer = null;
            printed = new ByteArrayOutputStream();
            PrintStream capture = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(capture);
            System.setErr(capture);
            run(line.split("\t", -1));
            out.println(answer);
            out.flush();
        }
    }

    private static void exit(int code, String message) {
        finish(code); // a real exit does not print the message either
        throw new Exited();
    }

    private static void finish(int code) {
        if (answer == null) {
            answer = code + " " + Base64.getEncoder().encodeToString(printed.toByteArray());
        }
    }

    private static void run(String[] words) {
        try {
            Method main = Class.forName(words[0]).getMethod("main", String[].class);
            main.invoke(null, (Object) Arrays.copyOfRange(words, 1, words.length));
            finish(0);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof Exited)) {
                System.err.println("Exception in thread \"main\" " + e.getCause()); // as the JVM of a tool of its own would
            }
            finish(1);
        } catch (ReflectiveOperationException e) {
            System.err.println("no such tool: " + e);
            finish(127);
        }
    }
}
