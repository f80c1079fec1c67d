import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Hands out all shares at once and lets members keep what they have meanwhile: no cooperative assignor may do so.
 * `java Hasty.java BOOTSTRAP TOPIC` lets two members join such a group and prints what comes of it.
 */
public class Hasty extends RoundRobinAssignor {
    @Override
    public String name() {
        return "hasty";
    }

    @Override
    public List<RebalanceProtocol> supportedProtocols() {
        return List.of(RebalanceProtocol.COOPERATIVE);
    }

    public static void main(String[] where) {
        var first = member(where[0], where[1]);
        while (first.assignment().isEmpty()) {
            first.poll(Duration.ofMillis(100));
        }
        var second = member(where[0], where[1]);
        try {
            while (second.assignment().isEmpty()) {
                first.poll(Duration.ofMillis(100));
                second.poll(Duration.ofMillis(100));
            }
            System.out.println("both have a share");
        } catch (IllegalStateException refused) {
            System.out.println(refused);
        }
        System.exit(0);
    }

    private static KafkaConsumer<byte[], byte[]> member(String bootstrap, String topic) {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", bootstrap,
                "group.id", topic,
                "partition.assignment.strategy", List.of(Hasty.class),
                "heartbeat.interval.ms", "500");
        var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(topic));
        return consumer;
    }
}
