import com.sun.tools.attach.VirtualMachine;
import java.util.TreeSet;
import javax.management.InstanceNotFoundException;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/**
 * Prints the numbers of Apache Kafka's MBeans. Each argument is the id of a broker's process, which needs no options for
 * this; a line is: process, MBean, attribute, value, with tabs between them.
 */
public class MBeans {
    // a bean leaves out those that it doesn't have
    private static final String[] ATTRIBUTES = {"Value", "Count", "50thPercentile", "999thPercentile", "group-count", "consumer-group-count"};

    public static void main(String[] processes) throws Exception {
        for (var process : processes) {
            var machine = VirtualMachine.attach(process);
            var url = new JMXServiceURL(machine.startLocalManagementAgent());
            machine.detach();
            try (var connector = JMXConnectorFactory.connect(url)) {
                print(process, connector.getMBeanServerConnection());
            }
        }
    }

    private static void print(String process, MBeanServerConnection broker) throws Exception {
        for (var bean : new TreeSet<>(broker.queryNames(new ObjectName("kafka.*:*"), null))) {
            try {
                for (var attribute : broker.getAttributes(bean, ATTRIBUTES).asList()) {
                    if (attribute.getValue() instanceof Number value) {
                        System.out.println(String.join("\t", process, bean.toString(), attribute.getName(), value.toString()));
                    }
                }
            } catch (InstanceNotFoundException gone) {
                // while it was looked at
            }
        }
    }
}
