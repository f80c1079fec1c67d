import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * One member of a share group: bootstrap, topic, group, and what it does with each record. It says
 * "offset deliveries" of each record that it has accepted, and ends when nothing came for five seconds, or for as
 * many milliseconds as a fifth argument says.
 *
 * what: "accept" each; "implicit": by the next poll; "release" each on its first delivery; "reject" the odd
 * ones; "hang" with the records of its first poll, and wait to be killed.
 */
public class ShareWorkers {
    public static void main(String[] args) {
        String what = args[3];
        Properties props = new Properties();
        props.put("bootstrap.servers", args[0]);
        props.put("group.id", args[2]);
        props.put("key.deserializer", StringDeserializer.class.getName());
        props.put("value.deserializer", StringDeserializer.class.getName());
        boolean explicit = !what.equals("implicit");
        props.put("share.acknowledgement.mode", explicit ? "explicit" : "implicit");
        long quietMs = args.length > 4 ? Long.parseLong(args[4]) : 5000;
        long lastMs = System.currentTimeMillis();
        boolean had = false;
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(props)) {
            consumer.subscribe(List.of(args[1]));
            System.out.println("ready");
            while (System.currentTimeMillis() - lastMs < (had ? quietMs : 60_000)) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(500));
                if (records.isEmpty()) {
                    continue;
                }
                had = true;
                lastMs = System.currentTimeMillis();
                if (what.equals("hang")) {
                    System.out.println("hangs with " + records.count());
                    System.out.flush();
                    sleep();
                }
                StringBuilder said = new StringBuilder();
                for (ConsumerRecord<String, String> record : records) {
                    int deliveries = record.deliveryCount().orElse((short) 0);
                    AcknowledgeType type = verdict(what, record.offset(), deliveries);
                    if (explicit) {
                        consumer.acknowledge(record, type);
                    }
                    if (type == AcknowledgeType.ACCEPT) {
                        said.append(record.partition()).append(' ').append(record.offset()).append(' ');
                        said.append(deliveries).append('\n');
                    }
                }
                consumer.commitSync();
                System.out.print(said);
            }
        }
        System.out.println("done");
    }

    private static AcknowledgeType verdict(String what, long offset, int deliveries) {
        if (what.equals("release") && deliveries == 1) {
            return AcknowledgeType.RELEASE;
        }
        if (what.equals("reject") && offset % 2 == 1) {
            return AcknowledgeType.REJECT;
        }
        return AcknowledgeType.ACCEPT;
    }

    private static void sleep() {
        try {
            Thread.sleep(600_000);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }
}
