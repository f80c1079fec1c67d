package org.apache.kafka.common.utils;

/**
 * Where the connectors of Apache Kafka 4.3.1 look for their version. 4.4 has the class in another package, and Maven Central
 * has no connect-file of 4.4.0.
 */
public class AppInfoParser {
    public static String getVersion() {
        return "4.3.1";
    }
}
