import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * `java Numbers.java write BOOTSTRAP TOPIC`: writes 0, 1, 2 ... to partition 0, and prints "NUMBER OFFSET" for each that
 * is acknowledged. `java Numbers.java read BOOTSTRAP TOPIC GROUP PROTOCOL`: reads as a member of a group, prints
 * "from OFFSET" of what each poll brings and "committed OFFSET". Both end when standard input does.
 */
public class Numbers {
    static final int IN_FLIGHT = 2000;
    static volatile boolean over = false;

    public static void main(String[] what) throws InterruptedException {
        var waiting = new Thread(Numbers::waitForTheEnd);
        waiting.setDaemon(true);
        waiting.start();
        if (what[0].equals("write")) write(what[1], what[2]);
        else read(what[1], what[2], what[3], what[4]);
    }

    static void waitForTheEnd() {
        try {
            while (System.in.read() >= 0) {}
        } catch (java.io.IOException gone) {
            // the end as well
        }
        over = true;
    }

    static void write(String bootstrap, String topic) throws InterruptedException {
        var settings = Map.<String, Object>of(
                "bootstrap.servers", bootstrap, "acks", "all", "linger.ms", 2,
                "reconnect.backoff.ms", 10, "reconnect.backoff.max.ms", 100, "retry.backoff.ms", 10);
        var inFlight = new Semaphore(IN_FLIGHT);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (long number = 0; !over; number++) {
                inFlight.acquireUninterruptibly();
                long sent = number;
                var record = new ProducerRecord<>(topic, 0, String.valueOf(number % 200), String.valueOf(number));
                producer.send(record, (metadata, error) -> {
                    System.out.println(error == null ? sent + " " + metadata.offset() : "failed " + error);
                    inFlight.release();
                });
                if (number % 100 == 99) Thread.sleep(10); // as the others do: all is read again in the end
            }
        }
    }

    static void read(String bootstrap, String topic, String group, String protocol) {
        var settings = Map.<String, Object>of(
                "bootstrap.servers", bootstrap, "group.id", group, "group.protocol", protocol,
                "auto.offset.reset", "earliest", "enable.auto.commit", false,
                "reconnect.backoff.ms", 10, "reconnect.backoff.max.ms", 100);
        var partition = new TopicPartition(topic, 0);
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (!over) {
                var records = consumer.poll(Duration.ofMillis(200)).records(partition);
                if (records.isEmpty()) continue;
                System.out.println("from " + records.get(0).offset());
                long next = records.get(records.size() - 1).offset() + 1;
                try {
                    consumer.commitSync(Map.of(partition, new OffsetAndMetadata(next)));
                    System.out.println("committed " + next);
                } catch (CommitFailedException | TimeoutException refused) {
                    // no acknowledgement, no promise
                }
            }
        }
    }
}
