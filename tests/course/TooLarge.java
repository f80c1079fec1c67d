import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * `java TooLarge.java BOOTSTRAP TOPIC SIZE...` sends a record of each size in a transaction of its own, with one
 * producer, aborts what fails, and says what became of each. Then another one takes its name, and it begins again.
 */
public class TooLarge {
    public static void main(String[] args) {
        var producer = named(args[1], args[0]);
        for (var at = 2; at < args.length; at++) {
            System.out.println(tried(producer, args[1], Integer.parseInt(args[at])));
        }
        named(args[1], args[0]).close();
        System.out.println(tried(producer, args[1], 1));
        System.exit(0);
    }

    private static KafkaProducer<byte[], byte[]> named(String name, String bootstrap) {
        var settings = Map.<String, Object>of("bootstrap.servers", bootstrap, "transactional.id", name);
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
            var cause = error.getCause() == null ? error : error.getCause();
            var kind = cause.getClass().getSimpleName() + ", " + cause.getClass().getSuperclass().getSimpleName();
            try {
                producer.abortTransaction();
                return kind + ": aborted";
            } catch (KafkaException refused) {
                return kind + ": can't be aborted";
            }
        }
    }
}
