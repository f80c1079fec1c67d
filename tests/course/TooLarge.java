import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * `java TooLarge.java BOOTSTRAP TOPIC SIZE...` sends a record of each size in a transaction of its own, with one
 * producer, aborts what fails, and says what became of each. Then another one takes its name, and it begins again.
 * Last, a producer sends until its transaction has been open for too long, aborts, and sends once more.
 */
public class TooLarge {
    public static void main(String[] args) throws InterruptedException {
        var producer = named(args[1], args[0], 60_000);
        for (var at = 2; at < args.length; at++) {
            System.out.println(tried(producer, args[1], Integer.parseInt(args[at])));
        }
        named(args[1], args[0], 60_000).close();
        System.out.println(tried(producer, args[1], 1));
        var slow = named(args[1] + "-slow", args[0], 1000);
        System.out.println(openForTooLong(slow, args[1]));
        System.out.println(tried(slow, args[1], 1));
        System.exit(0);
    }

    private static KafkaProducer<byte[], byte[]> named(String name, String bootstrap, int timeoutMs) {
        var settings = Map.<String, Object>of(
                "bootstrap.servers", bootstrap, "transactional.id", name, "transaction.timeout.ms", timeoutMs);
        var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        return producer;
    }

    private static String tried(KafkaProducer<byte[], byte[]> producer, String topic, int size) {
        try {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, new byte[size]));
            producer.commitTransaction();
            return "committed";
        } catch (KafkaException error) {
            var kind = kindOf(error.getCause() == null ? error : error.getCause());
            try {
                producer.abortTransaction();
                return kind + ": aborted";
            } catch (KafkaException refused) {
                return kind + ": can't be aborted, " + refused.getClass().getSimpleName();
            }
        }
    }

    private static String openForTooLong(KafkaProducer<byte[], byte[]> producer, String topic)
            throws InterruptedException {
        producer.beginTransaction();
        try {
            while (true) {
                producer.send(new ProducerRecord<>(topic, new byte[1])).get();
            }
        } catch (ExecutionException error) {
            producer.abortTransaction();
            return kindOf(error.getCause()) + ": aborted";
        }
    }

    private static String kindOf(Throwable error) {
        return error.getClass().getSimpleName() + ", " + error.getClass().getSuperclass().getSimpleName();
    }
}
