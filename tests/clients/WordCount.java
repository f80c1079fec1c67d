import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * `java WordCount.java BOOTSTRAP FOLDER PROTOCOL REPLICAS`: Kafka Streams counts the words of the topic lines, exactly
 * once, and writes each new count to the topic counts. Its state is in memory and in its changelog: nothing is kept in
 * the folder. PROTOCOL: classic or streams (KIP-1071).
 */
public class WordCount {
    public static void main(String[] args) {
        var builder = new StreamsBuilder();
        builder.<String, String>stream("lines")
                .flatMapValues(line -> List.of(line.split(" ")))
                .groupBy((key, word) -> word)
                .count(Materialized.as(Stores.inMemoryKeyValueStore("words")))
                .toStream()
                .mapValues(String::valueOf)
                .to("counts", Produced.with(Serdes.String(), Serdes.String()));
        var settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("state.dir", args[1]);
        settings.put("application.id", "word-count");
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        settings.put("statestore.cache.max.bytes", "0"); // every count is written, not only the latest of a while
        settings.put("commit.interval.ms", "100");
        settings.put("group.protocol", args[2]);
        settings.put("replication.factor", args[3]);
        if (args[2].equals("classic")) {
            settings.put("group.instance.id", "the-counter"); // its successor needs no rebalance (KIP-345)
        }
        new KafkaStreams(builder.build(), settings).start();
    }
}
