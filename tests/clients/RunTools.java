import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs tools of Apache Kafka in one JVM. Each line of standard input is JSON: {tool: class, args: [], input: text,
 * seconds: patience}; each answer is a line {exit: status or "out of time", out: text, err: text}.
 */
public class RunTools {
    /** In the place of the JVM's end. */
    private static class Ended extends Error {
    }

    public static void main(String[] none) throws Exception {
        var json = new ObjectMapper();
        var lines = new BufferedReader(new InputStreamReader(System.in));
        var answers = System.out;
        for (String line; (line = lines.readLine()) != null; ) {
            answers.println(json.writeValueAsString(run(json.readTree(line))));
        }
        Runtime.getRuntime().halt(0);
    }

    private static Map<String, Object> run(JsonNode asked) throws Exception {
        var args = new ArrayList<String>();
        asked.get("args").forEach(arg -> args.add(arg.asText()));
        var out = new ByteArrayOutputStream();
        var err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true));
        System.setErr(new PrintStream(err, true));
        System.setIn(new ByteArrayInputStream(asked.get("input").asText().getBytes()));
        var exit = new CompletableFuture<Integer>();
        Exit.Procedure ends = (status, message) -> {
            exit.complete(status);
            throw new Ended();
        };
        Exit.setExitProcedure(ends);
        Exit.setHaltProcedure(ends);
        var hooks = new ArrayList<Runnable>();
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        var main = Class.forName(asked.get("tool").asText()).getMethod("main", String[].class);
        var tool = new Thread(() -> {
            try {
                main.invoke(null, (Object) args.toArray(new String[0]));
                exit.complete(0);
            } catch (ReflectiveOperationException error) {
                if (!exit.isDone()) {
                    error.getCause().printStackTrace();
                    exit.complete(1);
                }
            }
            hooks.forEach(Runnable::run);
        });
        tool.setDaemon(true);
        tool.start();
        Integer status = null;
        try {
            status = exit.get(asked.get("seconds").asLong(), TimeUnit.SECONDS);
            tool.join(10_000);
        } catch (TimeoutException error) {
            tool.interrupt();
            tool.join(5000);
        }
        return Map.of("exit", status == null ? "out of time" : status, "out", out.toString(), "err", err.toString());
    }
}
