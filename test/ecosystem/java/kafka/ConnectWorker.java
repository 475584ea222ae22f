import java.io.IOException;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.cli.ConnectDistributed;
import org.apache.kafka.connect.runtime.Connect;

/**
 * The worker of Kafka Connect that ConnectDistributed runs, ended in order by the end of its standard input. SIGTERM does not always end it:
 * Connect and Jetty each stop the REST server in a shutdown hook. When Jetty's comes while Connect's has begun, it strikes the thread pool off
 * what is to be stopped, and Connect waits for ever for that pool, its tasks running on (Connect 4.4.0, Jetty 12.0.39: ShutdownThread.run,
 * ContainerLifeCycle.destroy, RestServer.stop).
 */
public final class ConnectWorker {
    private ConnectWorker() {
    }

    public static void main(String[] args) throws IOException {
        Connect<?> connect = new ConnectDistributed(args).startConnect(Utils.propsToStringMap(Utils.loadProps(args[0])));
        Thread end = new Thread(() -> {
            awaitEndOfInput();
            connect.stop();
        }, "end");
        end.setDaemon(true);
        end.start();
        connect.awaitStop();
    }

    private static void awaitEndOfInput() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (IOException e) {
            System.err.println("read standard input: " + e);
        }
    }
}
