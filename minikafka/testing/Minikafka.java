import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A Kafka for tests, which fails when a test tells it to: `minikafka serve` as a child process.
 *
 * <p>Copy this file into your tests. As a JUnit 5 extension it is there for all tests of a class:
 *
 * <pre>@RegisterExtension static final Minikafka kafka = new Minikafka();</pre>
 *
 * It ends with the class, or with this JVM, whatever happens to it. The variable MINIKAFKA names the command, where it
 * isn't on the PATH. Java 17, and nothing but JUnit.
 */
public final class Minikafka implements BeforeAllCallback, AfterEachCallback, AfterAllCallback, AutoCloseable {
    private final List<String> options;
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private Process process;
    private String ready;

    /** options: of `minikafka serve`, "--brokers", "3" for example. */
    public Minikafka(String... options) {
        this.options = List.of(options);
    }

    /** Returns when clients may come. JUnit calls it before the first test. */
    public Minikafka start() {
        String command = System.getenv().getOrDefault("MINIKAFKA", "minikafka");
        List<String> line = new ArrayList<>(List.of(command, "serve", "--port", "0"));
        line.addAll(List.of("--control", "0", "--ready", "json", "--exit-with-parent"));
        line.addAll(options);
        try {
            process = new ProcessBuilder(line)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            ready = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        if (ready == null) {
            throw new IllegalStateException("minikafka did not start: see its message on standard error");
        }
        return this;
    }

    /** host:port of all brokers, for bootstrap.servers. */
    public String bootstrapServers() {
        return text(ready, "bootstrap_servers");
    }

    /**
     * Begins a fault; it ends with the test, or earlier by close(). kind: Lose, Answer, Delay, Throttle, Crash or Freeze.
     * words: topic, nth, times and the others of minikafka.testing, as "answer", true, "topic", "orders".
     */
    public Fault fault(String kind, String api, Object... words) {
        StringBuilder body = new StringBuilder("{\"fault\": " + json(kind) + ", \"api\": " + json(api));
        for (int i = 0; i < words.length; i += 2) {
            body.append(", ").append(json(words[i])).append(": ").append(json(words[i + 1]));
        }
        return new Fault(number(ask("POST", "/faults", body + "}"), "id"));
    }

    /** Moves the brokers' time on; what is due by then happens before this returns. */
    public void advance(Duration time) {
        ask("POST", "/clock/advance", "{\"seconds\": " + time.toMillis() / 1000.0 + "}");
    }

    /** kill -9; what it has written is there after a restart. */
    public void kill(int broker) {
        ask("POST", "/brokers/" + broker + "/kill", "");
    }

    /** On the same port and data. */
    public void restart(int broker) {
        ask("POST", "/brokers/" + broker + "/restart", "");
    }

    /** It stands still, with its connections open, until thaw. */
    public void freeze(int broker) {
        ask("POST", "/brokers/" + broker + "/freeze", "");
    }

    /** It goes on as if nothing had happened. */
    public void thaw(int broker) {
        ask("POST", "/brokers/" + broker + "/thaw", "");
    }

    /** Nothing passes between two brokers until mend. */
    public void cut(int one, int other) {
        ask("POST", "/cut", "{\"brokers\": [" + one + ", " + other + "]}");
    }

    /** The two hear each other again. */
    public void mend(int one, int other) {
        ask("POST", "/mend", "{\"brokers\": [" + one + ", " + other + "]}");
    }

    /** What clients have asked of late, as JSON. */
    public String heard() {
        return ask("GET", "/heard", "");
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        start();
    }

    @Override
    public void afterEach(ExtensionContext context) {
        ask("DELETE", "/faults", "");
    }

    @Override
    public void afterAll(ExtensionContext context) {
        close();
    }

    /** Ends the brokers. */
    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    /** A fault, until it ends. */
    public final class Fault implements AutoCloseable {
        private final int id;

        private Fault(int id) {
            this.id = id;
        }

        /** How many requests it has met, while it is there. */
        public int hits() {
            return number(ask("GET", "/faults/" + id, ""), "hits");
        }

        @Override
        public void close() {
            ask("DELETE", "/faults/" + id, "");
        }
    }

    private String ask(String method, String path, String body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(text(ready, "control") + path))
                .header("Authorization", "Bearer " + text(ready, "token"))
                .header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
        try {
            HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() >= 300) {
                throw new IllegalArgumentException(answer.body().strip());
            }
            return answer.body();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(error);
        }
    }

    private static String json(Object value) {
        if (!(value instanceof String text)) {
            return String.valueOf(value);
        }
        StringBuilder quoted = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            boolean plain = each >= ' ' && each != '"' && each != '\\';
            quoted.append(plain ? String.valueOf(each) : String.format("\\u%04x", (int) each));
        }
        return quoted.append('"').toString();
    }

    private static String text(String json, String name) {
        return found(json, "\"" + name + "\": \"([^\"]*)\"");
    }

    private static int number(String json, String name) {
        return Integer.parseInt(found(json, "\"" + name + "\": ([0-9]+)"));
    }

    private static String found(String json, String pattern) {
        Matcher match = Pattern.compile(pattern).matcher(json);
        if (!match.find()) {
            throw new IllegalStateException(pattern + " is not in " + json);
        }
        return match.group(1);
    }
}
