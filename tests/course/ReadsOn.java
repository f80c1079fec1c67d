import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * `java ReadsOn.java BOOTSTRAP TOPIC`: of a cooperative group of two, one member is busy while a third one joins. Prints
 * what becomes of the other one's commit and of its reading meanwhile. The topic has four partitions.
 */
public class ReadsOn {
    private static final Duration SHORT = Duration.ofMillis(100);

    public static void main(String[] where) {
        var producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", (Object) where[0]), new ByteArraySerializer(), new ByteArraySerializer());
        for (int partition = 0; partition < 4; partition++) {
            producer.send(new ProducerRecord<>(where[1], partition, null, "before".getBytes()));
        }
        producer.flush();
        var first = member(where[0], where[1]);
        var busy = member(where[0], where[1]);
        var before = new ArrayList<String>();
        while (first.assignment().size() != 2 || busy.assignment().size() != 2 || before.size() < 4) {
            for (var each : List.of(first, busy)) {
                each.poll(SHORT).forEach(record -> before.add(new String(record.value())));
            }
        }
        var third = member(where[0], where[1]);
        for (boolean refused = false; !refused; ) { // from here on the busy one polls no more
            third.poll(SHORT);
            first.poll(SHORT);
            try {
                first.commitSync();
            } catch (RebalanceInProgressException error) {
                refused = true;
            }
        }
        System.out.println("the commit is refused");
        int kept = first.assignment().iterator().next().partition();
        producer.send(new ProducerRecord<>(where[1], kept, null, "meanwhile".getBytes()));
        for (boolean read = false; !read; ) {
            for (var record : first.poll(SHORT)) {
                read |= new String(record.value()).equals("meanwhile");
            }
        }
        System.out.println("it reads on, and the third one has " + third.assignment().size() + " partitions");
        System.exit(0);
    }

    private static KafkaConsumer<byte[], byte[]> member(String bootstrap, String topic) {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", bootstrap,
                "group.id", topic,
                "auto.offset.reset", "earliest",
                "enable.auto.commit", "false",
                "partition.assignment.strategy", List.of(CooperativeStickyAssignor.class),
                "heartbeat.interval.ms", "500");
        var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(topic));
        return consumer;
    }
}
