import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Misrouted {
    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", args[0], "auto.offset.reset", "earliest",
            "enable.idempotence", false, "acks", "1", "retries", 0, "linger.ms", 0,
            "request.timeout.ms", 12000, "delivery.timeout.ms", 12000,
            "send.buffer.bytes", 4096);
        var text = new StringSerializer();
        var producer = new KafkaProducer<>(settings, text, text);
        for (var topic : List.of("a", "b"))
            producer.send(new ProducerRecord<>(topic, 0, null, "first")).get();

        // a record with it fills a buffer of the pool
        var filler = "-".repeat(15_000);
        // the connection to broker 1 stands still at this one
        producer.send(new ProducerRecord<>("a", 0, null, "x".repeat(900_000)));
        Thread.sleep(500);
        var toA = new ArrayList<Future<?>>();
        for (int p = 1; p <= 30; p++)
            toA.add(producer.send(
                new ProducerRecord<>("a", p, null, "for a" + filler)));
        int failed = 0;
        for (var each : toA)
            try { each.get(); } catch (ExecutionException timeout) { failed++; }
        System.out.println("30 records for topic a, reported as failed: " + failed);

        for (int n = 1; n <= 30; n++)
            producer.send(new ProducerRecord<>("b", 0, null, "for b" + filler)).get();
        System.out.println("30 records for topic b, acknowledged: 30");

        // it moves on
        var strings = new StringDeserializer();
        var consumer = new KafkaConsumer<>(settings, strings, strings);
        consumer.assign(IntStream.rangeClosed(1, 30)
            .mapToObj(p -> new TopicPartition("a", p)).toList());
        int read = 0, strange = 0;
        while (read < 30)
            for (var record : consumer.poll(Duration.ofSeconds(1))) {
                read++;
                if (record.value().startsWith("for b")) strange++;
            }
        System.out.println("30 records read from topic a, for topic b: " + strange);
        Runtime.getRuntime().halt(0);
    }
}
