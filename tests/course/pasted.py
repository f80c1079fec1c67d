"""Messages as people paste them into a search box: with the lines around them, of
Java, kafka-python, confluent-kafka, aiokafka, Spark and shells.
"""

# (the entry that must be told, the message)
TOLD = [
    (
        "plain-to-a-tls-port",
        """\
[kafka-admin-client-thread | adminclient-1] ERROR org.apache.kafka.common.utils.KafkaThread - Uncaught exception in thread 'kafka-admin-client-thread | adminclient-1':
java.lang.OutOfMemoryError: Java heap space
Error while executing topic command : The AdminClient thread has exited. Call: listTopics
""",
    ),
    (
        "sasl-authentication-failed",
        'org.apache.kafka.common.errors.SaslAuthenticationException: {"status":"invalid_token"}',
    ),
    (
        "invalid-pem-keystore",
        "org.apache.kafka.common.errors.InvalidConfigurationException: SSL key store"
        " password cannot be specified with PEM format, only key password may be specified",
    ),
    (
        "unknown-certificate-authority",
        """\
[kafka-admin-client-thread | adminclient-1] ERROR org.apache.kafka.clients.NetworkClient - [AdminClient clientId=adminclient-1] Connection to node -1 (localhost/127.0.0.1:9093) failed authentication due to: SSL handshake failed
org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed
Caused by: javax.net.ssl.SSLHandshakeException: PKIX path building failed: sun.security.provider.certpath.SunCertPathBuilderException: unable to find valid certification path to requested target
	at java.base/sun.security.ssl.Alert.createSSLException(Alert.java:131)
	at java.base/sun.security.ssl.TransportContext.fatal(TransportContext.java:383)
	at java.base/sun.security.ssl.SSLHandshake.consume(SSLHandshake.java:396)
""",
    ),
    (
        "unknown-certificate-authority",
        """\
Connection failed: KafkaConnectionError: Handshake failed: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate (_ssl.c:1006)
Bootstrap bootstrap-0 not ready; waiting 0.08 secs
Traceback (most recent call last):
  File "/app/orders.py", line 3, in <module>
    KafkaProducer(bootstrap_servers="localhost:9093", security_protocol="SSL")
kafka.errors.KafkaTimeoutError: KafkaTimeoutError: Unable to bootstrap from localhost:9093
""",
    ),
    (
        "unknown-certificate-authority",
        "%3|1764336071.712|FAIL|rdkafka#producer-1| [thrd:ssl://localhost:9093/bootstrap]:"
        " ssl://localhost:9093/bootstrap: SSL handshake failed: error:0A000086:SSL"
        " routines::certificate verify failed: broker certificate could not be verified,"
        " verify that ssl.ca.location is correctly configured or root CA certificates"
        " are installed (install ca-certificates package) (after 81ms in state"
        " SSL_HANDSHAKE)",
    ),
    (
        "certificate-for-another-host",
        """\
org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed
Caused by: javax.net.ssl.SSLHandshakeException: No subject alternative DNS name matching localhost found.
	at java.base/sun.security.ssl.Alert.createSSLException(Alert.java:131)
""",
    ),
    (
        "certificate-for-another-host",
        "Connection lost: KafkaConnectionError: Handshake failed: [SSL:"
        " CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch,"
        " certificate is not valid for 'kafka-1'. (_ssl.c:1006)",
    ),
    (
        "certificate-expired",
        """\
org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed
Caused by: javax.net.ssl.SSLHandshakeException: PKIX path validation failed: java.security.cert.CertPathValidatorException: validity check failed
	at java.base/sun.security.ssl.Alert.createSSLException(Alert.java:131)
Caused by: java.security.cert.CertificateExpiredException: NotAfter: Sat Nov 28 13:11:17 UTC 2026
	at java.base/sun.security.x509.CertificateValidity.valid(CertificateValidity.java:277)
""",
    ),
    (
        "certificate-expired",
        "aiokafka.errors.KafkaConnectionError: KafkaConnectionError: Connection at"
        " localhost:9094 closed: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify"
        " failed: certificate has expired (_ssl.c:1006)",
    ),
    (
        "client-certificate-missing",
        """\
org.apache.kafka.common.errors.SslAuthenticationException: Failed to process post-handshake messages
Caused by: javax.net.ssl.SSLHandshakeException: Received fatal alert: bad_certificate
	at java.base/sun.security.ssl.Alert.createSSLException(Alert.java:131)
""",
    ),
    (
        "tls-to-a-plain-port",
        "[AdminClient clientId=adminclient-1] Connection to node -1"
        " (localhost/127.0.0.1:9092) terminated during authentication. This may happen"
        " due to any of the following reasons: (1) Firewall blocking Kafka TLS traffic"
        " (eg it may only allow HTTPS traffic), (2) Transient network issue.",
    ),
    (
        "tls-to-a-plain-port",
        "org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed",
    ),
    (
        "plain-to-a-tls-port",
        "%3|1764336071.712|FAIL|rdkafka#consumer-1| [thrd:localhost:9093/bootstrap]:"
        " localhost:9093/bootstrap: Disconnected while requesting ApiVersion: might be"
        " caused by incorrect security.protocol configuration (connecting to a SSL"
        " listener?) or broker version is < 0.10 (see api.version.request) (after 1ms"
        " in state APIVERSION_QUERY)",
    ),
    (
        "sasl-authentication-failed",
        """\
Exception in thread "main" org.apache.kafka.common.KafkaException: Failed to construct kafka consumer
	at org.apache.kafka.clients.consumer.KafkaConsumer.<init>(KafkaConsumer.java:830)
Caused by: org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed: Invalid username or password
""",
    ),
    (
        "sasl-authentication-failed",
        "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed"
        " during authentication due to invalid credentials with SASL mechanism"
        " SCRAM-SHA-512",
    ),
    (
        "sasl-authentication-failed",
        'KafkaError{code=_AUTHENTICATION,val=-169,str="sasl_ssl://broker:9093/bootstrap:'
        " SASL authentication error: Authentication failed during authentication due to"
        " invalid credentials with SASL mechanism SCRAM-SHA-512 (after 301ms in state"
        ' AUTH_REQ, 4 identical error(s) suppressed)"}',
    ),
    (
        "unsupported-sasl-mechanism",
        "org.apache.kafka.common.errors.UnsupportedSaslMechanismException: Client SASL"
        " mechanism 'PLAIN' not enabled in the server, enabled mechanisms are"
        " [SCRAM-SHA-512]",
    ),
    (
        "topic-authorization-failed",
        """\
[kafka-producer-network-thread | console-producer] WARN org.apache.kafka.clients.NetworkClient - [Producer clientId=console-producer] The metadata response from the cluster reported a recoverable issue with correlation id 1 : {orders=TOPIC_AUTHORIZATION_FAILED}
[main] ERROR org.apache.kafka.clients.producer.internals.ErrorLoggingCallback - Error when sending message to topic orders with key: null, value: 1 bytes with error:
org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [orders]
""",
    ),
    (
        "group-authorization-failed",
        "org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to"
        " access group: billing",
    ),
    (
        "group-authorization-failed",
        """\
org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query [id = 5, runId = 7] terminated with exception: Not authorized to access group: spark-kafka-source-7f8e
	at org.apache.spark.sql.execution.streaming.StreamExecution.org$apache$spark$sql$execution$streaming$StreamExecution$$runStream(StreamExecution.scala:372)
Caused by: org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group: spark-kafka-source-7f8e
""",
    ),
    (
        "transactional-id-authorization-failed",
        'cimpl.KafkaException: KafkaError{FATAL,code=TRANSACTIONAL_ID_AUTHORIZATION_FAILED,val=53,str="Failed'
        " to find transaction coordinator: sasl_plaintext://127.0.0.1:9097/1: Broker:"
        ' Transactional Id authorization failed."}',
    ),
    (
        "cluster-authorization-failed",
        "java.util.concurrent.ExecutionException:"
        " org.apache.kafka.common.errors.ClusterAuthorizationException: Request"
        " Request(processor=16, connectionId=127.0.0.1:9097-127.0.0.1:51340-16-37,"
        " securityProtocol=SASL_PLAINTEXT) needs DESCRIBE permission.",
    ),
    (
        "sasl-to-a-port-without",
        "org.apache.kafka.common.errors.IllegalSaslStateException: Unexpected handshake"
        " request with client mechanism PLAIN, enabled mechanisms are []",
    ),
    (
        "plain-to-a-sasl-port",
        """\
[2026-01-05 10:00:00,000] WARN [SocketServer listenerType=BROKER, nodeId=1] Unexpected error from /172.18.0.7 (channelId=172.18.0.2:9097-172.18.0.7:36970-15-0); closing connection (org.apache.kafka.common.network.Selector)
org.apache.kafka.common.errors.InvalidRequestException: Unexpected Kafka request of type METADATA during SASL handshake.
""",
    ),
    (  # before Kafka 4
        "plain-to-a-sasl-port",
        "org.apache.kafka.common.errors.IllegalSaslStateException: Unexpected Kafka"
        " request of type METADATA during SASL handshake.",
    ),
    (
        "connection-to-node",
        """\
[kafka-producer-network-thread | console-producer] WARN org.apache.kafka.clients.NetworkClient - [Producer clientId=console-producer] Connection to node -1 (localhost/127.0.0.1:9093) could not be established. Node may not be available.
[kafka-producer-network-thread | console-producer] WARN org.apache.kafka.clients.NetworkClient - [Producer clientId=console-producer] Bootstrap broker localhost:9093 (id: -1 rack: null isFenced: false) disconnected
""",
    ),
    (
        "bootstrap-broker-disconnected",
        """\
[kafka-producer-network-thread | console-producer] WARN org.apache.kafka.clients.NetworkClient - [Producer clientId=console-producer] Bootstrap broker kafka-1.example:9097 (id: -1 rack: null isFenced: false) disconnected
[main] ERROR org.apache.kafka.clients.producer.internals.ErrorLoggingCallback - Error when sending message to topic orders with key: null, value: 5 bytes with error:
""",
    ),
    (
        "bootstrap-broker-disconnected",
        "[2023-01-05 10:00:00,000] WARN [Producer clientId=console-producer] Bootstrap"
        " broker localhost:9097 (id: -1 rack: null) disconnected"
        " (org.apache.kafka.clients.NetworkClient)",
    ),
    (
        "invalid-pem-keystore",
        """\
org.apache.kafka.common.KafkaException: Failed to construct kafka producer
Caused by: org.apache.kafka.common.KafkaException: Failed to create new NetworkClient
Caused by: org.apache.kafka.common.errors.InvalidConfigurationException: Failed to load PEM SSL keystore client.pem
Caused by: org.apache.kafka.common.errors.InvalidConfigurationException: Invalid PEM keystore configs
Caused by: org.apache.kafka.common.errors.InvalidConfigurationException: Private key could not be loaded
Caused by: java.security.spec.InvalidKeySpecException: java.security.InvalidKeyException: IOException : algid parse error, not a sequence
""",
    ),
    (
        "topic-authorization-failed",
        "[2026-01-05 10:00:00,000] INFO Principal = User:alice is Denied operation = READ"
        " from host = 172.18.0.7 on resource = Topic:LITERAL:orders for request = Fetch"
        " with resourceRefCount = 1 based on rule DefaultDeny (kafka.authorizer.logger)",
    ),
    (
        "group-authorization-failed",
        "Principal = User:alice is Denied operation = READ from host = 172.18.0.7 on"
        " resource = Group:LITERAL:billing for request = JoinGroup with resourceRefCount"
        " = 1 based on rule DefaultDeny",
    ),
    (
        "cluster-authorization-failed",
        "Principal = User:CN=kafka-2.example is Denied operation = CLUSTER_ACTION from"
        " host = 172.18.0.3 on resource = Cluster:LITERAL:kafka-cluster for request ="
        " BrokerRegistration with resourceRefCount = 1 based on rule DefaultDeny",
    ),
    (
        "broker-not-registered",
        "[2026-01-05 10:00:00,000] INFO [BrokerLifecycleManager id=2] Unable to register"
        " the broker because the RPC got timed out before it could be sent."
        " (kafka.server.BrokerLifecycleManager)",
    ),
    (
        "no-service-name",
        """\
org.apache.kafka.common.KafkaException: Failed to construct kafka producer
Caused by: org.apache.kafka.common.KafkaException: java.lang.IllegalArgumentException: No serviceName defined in either JAAS or Kafka config
Caused by: java.lang.IllegalArgumentException: No serviceName defined in either JAAS or Kafka config
""",
    ),
    (
        "no-authorizer",
        "Error while executing ACL command: java.util.concurrent.ExecutionException:"
        " org.apache.kafka.common.errors.SecurityDisabledException: No Authorizer is"
        " configured on the broker",
    ),
    (
        "jaas-entry-missing",
        """\
org.apache.kafka.common.KafkaException: Failed to construct kafka producer
	at org.apache.kafka.clients.producer.KafkaProducer.<init>(KafkaProducer.java:477)
Caused by: java.lang.IllegalArgumentException: Could not find a 'KafkaClient' entry in the JAAS configuration. System property 'java.security.auth.login.config' is not set
	at org.apache.kafka.common.security.JaasContext.defaultContext(JaasContext.java:150)
""",
    ),
    (
        "connection-to-node",
        """\
[2026-01-05 10:00:00,000] WARN [Producer clientId=console-producer] Connection to node -1 (localhost/127.0.0.1:9092) could not be established. Node may not be available. (org.apache.kafka.clients.NetworkClient)
[2026-01-05 10:00:00,001] WARN [Producer clientId=console-producer] Bootstrap broker localhost:9092 (id: -1 rack: null) disconnected (org.apache.kafka.clients.NetworkClient)
""",
    ),
    (
        "no-brokers-available",
        """\
Traceback (most recent call last):
  File "/srv/shop/orders.py", line 4, in <module>
    producer = KafkaProducer(bootstrap_servers="localhost:9092")
  File "/usr/lib/python3.11/site-packages/kafka/producer/kafka.py", line 381, in __init__
    client = KafkaClient(metrics=self._metrics, metric_group_prefix='producer',
kafka.errors.NoBrokersAvailable: NoBrokersAvailable
""",
    ),
    (
        "no-brokers-available",
        """\
Unable connect to "localhost:9092": [Errno 111] Connect call failed ('127.0.0.1', 9092)
aiokafka.errors.KafkaConnectionError: KafkaConnectionError: Unable to bootstrap from [('localhost', 9092, <AddressFamily.AF_UNSPEC: 0>)]
""",
    ),
    (
        "unknown-topic-or-partition",
        """\
pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic-partition.
JVM stacktrace:
	at org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin.fetchPartitionOffsets(KafkaOffsetReaderAdmin.scala:131)
""",
    ),
    (
        "replication-factor",
        "Error while executing topic command : Unable to replicate the partition 3"
        " time(s): The target replication factor of 3 cannot be reached because only 1"
        " broker(s) are registered.",
    ),
    (
        "replication-factor",
        "org.apache.kafka.common.errors.InvalidReplicationFactorException: Replication"
        " factor: 3 larger than available brokers: 1.",
    ),
    (
        "topic-already-exists",
        "[main] ERROR org.apache.kafka.tools.TopicCommand -"
        " org.apache.kafka.common.errors.TopicExistsException: Topic 'orders' already"
        " exists.",
    ),
    (
        "invalid-topic-name",
        "org.apache.kafka.common.errors.InvalidTopicException: Invalid topics: [orders,"
        " payments]",
    ),
    (
        "invalid-topic-name",
        'ValueError: Topic name "my topic" is illegal, it contains a character other'
        ' than ASCII alphanumerics, ".", "_" and "-"',
    ),
    (
        "invalid-partitions",
        "Error while executing topic command : The topic orders currently has 3"
        " partition(s); 2 would not be an increase.",
    ),
    (
        "invalid-config",
        "java.util.concurrent.ExecutionException:"
        " org.apache.kafka.common.errors.InvalidConfigurationException: Unknown topic"
        " config name: retention",
    ),
    (
        "message-timed-out",
        "org.apache.kafka.common.errors.TimeoutException: Expiring 1 record(s) for"
        " orders-0:120000 ms has passed since batch creation. The request has not been"
        " sent, or no server response has been received yet.",
    ),
    (
        "node-assignment",
        "Error while executing topic command : Timed out waiting for a node assignment."
        " Call: createTopics",
    ),
    (
        "node-assignment",
        'cimpl.KafkaException: KafkaError{code=_TRANSPORT,val=-195,str="Failed to get'
        ' metadata: Local: Broker transport failure"}',
    ),
    ("queue-full", "BufferError: Local: Queue full"),
    (
        "non-empty-group",
        "Error: Assignments can only be reset if the group 'billing' is inactive, but"
        " the current state is Stable.",
    ),
    (
        "group-id-not-found",
        "Error: Executing consumer group command failed due to"
        " org.apache.kafka.common.errors.GroupIdNotFoundException: Group billng not"
        " found.",
    ),
    (
        "invalid-transaction-timeout",
        "org.apache.kafka.common.KafkaException: Unexpected error in"
        " InitProducerIdResponse; The transaction timeout is larger than the maximum"
        " value allowed by the broker (as configured by transaction.max.timeout.ms).",
    ),
    (
        "invalid-record",
        "org.apache.kafka.common.InvalidRecordException: Compacted topic cannot accept"
        " message without key in topic partition prices-0.",
    ),
    (
        "invalid-timestamp",
        "kafka.errors.InvalidTimestampError: [Error 32] InvalidTimestampError: Timestamp"
        " 1795958263971714 of message with offset 0 is out of range.",
    ),
    (
        "not-the-kafka-protocol",
        """\
[2026-01-05 10:00:00,000] WARN [SocketServer listenerType=BROKER, nodeId=1] Unexpected error from /172.18.0.1 (channelId=172.18.0.2:9092-172.18.0.1:53022-1-71); closing connection (org.apache.kafka.common.network.Selector)
org.apache.kafka.common.network.InvalidReceiveException: Invalid receive (size = 1195725856 larger than 104857600)
	at org.apache.kafka.common.network.NetworkReceive.readFrom(NetworkReceive.java:95)
""",
    ),
    ("not-the-kafka-protocol", "curl: (52) Empty reply from server"),
    (
        "unrecognized-config",
        'KafkaError{code=_INVALID_ARG,val=-186,str="No such configuration property:'
        ' "bootstrap_servers""}',
    ),
    (
        "value-must-be-bytes",
        "org.apache.kafka.common.errors.SerializationException: Can't convert value of"
        " class java.lang.Integer to class"
        " org.apache.kafka.common.serialization.StringSerializer specified in"
        " value.serializer",
    ),
    (
        "two-ways-to-consume",
        "java.lang.IllegalStateException: Subscription to topics, partitions and pattern"
        " are mutually exclusive",
    ),
    (
        "zookeeper-option",
        """\
Exception in thread "main" joptsimple.UnrecognizedOptionException: zookeeper is not a recognized option
	at joptsimple.OptionException.unrecognizedOption(OptionException.java:108)
	at joptsimple.OptionParser.handleLongOptionToken(OptionParser.java:510)
""",
    ),
    (
        "delivery-timeout",
        "org.apache.kafka.common.config.ConfigException: delivery.timeout.ms should be"
        " equal to or larger than linger.ms + request.timeout.ms",
    ),
    (
        "a-file-named-kafka",
        """\
Traceback (most recent call last):
  File "/srv/shop/kafka.py", line 1, in <module>
    from kafka import KafkaProducer
  File "/srv/shop/kafka.py", line 1, in <module>
    from kafka import KafkaProducer
ImportError: cannot import name 'KafkaProducer' from partially initialized module 'kafka' (most likely due to a circular import) (/srv/shop/kafka.py)
""",
    ),
    ("six-moves", "ModuleNotFoundError: No module named 'kafka.vendor.six.moves'"),
    ("six-moves", "ModuleNotFoundError: No module named 'kafka'"),
    (
        "unsupported-class-version",
        """\
Error: LinkageError occurred while loading main class kafka.Kafka
	java.lang.UnsupportedClassVersionError: kafka/Kafka has been compiled by a more recent version of the Java Runtime (class file version 61.0), this version of the Java Runtime only recognizes class file versions up to 55.0
""",
    ),
    (
        "data-source-kafka",
        "pyspark.errors.exceptions.captured.AnalysisException: Failed to find data"
        " source: kafka. Please deploy the application as per the deployment section of"
        " Structured Streaming + Kafka Integration Guide.",
    ),
    (
        "hadoop-home",
        """\
26/01/05 10:00:00 WARN Shell: Did not find winutils.exe: {}
java.io.FileNotFoundException: java.io.FileNotFoundException: HADOOP_HOME and hadoop.home.dir are unset. -see https://wiki.apache.org/hadoop/WindowsProblems
	at org.apache.hadoop.util.Shell.fileNotFoundException(Shell.java:547)
""",
    ),
    (
        "address-in-use",
        """\
[2026-01-05 10:00:00,000] ERROR [KafkaRaftServer nodeId=1] Got exception: Socket server failed to bind to 0.0.0.0:9092: Address already in use. (kafka.Kafka$)
org.apache.kafka.common.KafkaException: Socket server failed to bind to 0.0.0.0:9092: Address already in use.
Caused by: java.net.BindException: Address already in use
	at java.base/sun.nio.ch.Net.bind0(Native Method)
""",
    ),
    ("address-in-use", "OSError: [Errno 98] Address already in use"),
    (
        "data-folder-in-use",
        "org.apache.kafka.common.KafkaException: Failed to acquire lock on file .lock in"
        " /tmp/kraft-combined-logs. A Kafka instance in another process or thread is"
        " using this directory.",
    ),
]

# No entry is about these, whatever words they share with one.
NOTHING = [
    "kafka",
    "error",
    "exception",
    "broker",
    "topic",
    "connection refused",
    "failed",
    "authentication",
    "certificate",
    "timeout",
    "the address was already there when we came",
    "the printer is out of paper",
    "my consumer is slow",
    "how do I read from the beginning",
    "org.apache.kafka.common.KafkaException: Failed to construct kafka consumer",
    "org.apache.kafka.common.errors.OutOfOrderSequenceException: The broker received an"
    " out of order sequence number.",
    "org.apache.kafka.common.errors.UnsupportedVersionException: The node does not"
    " support FETCH",
    'KafkaError{code=_TIMED_OUT,val=-185,str="Local: Timed out"}',
    "java.lang.OutOfMemoryError: Java heap space",
    'java.lang.NullPointerException: Cannot invoke "Object.toString()" because'
    ' "value" is null',
    """\
java.lang.IllegalArgumentException: requirement failed: no task for this stage
	at org.apache.kafka.common.network.SslTransportLayer.handshake(SslTransportLayer.java:102)
	at org.apache.kafka.clients.NetworkClient.poll(NetworkClient.java:560)
	at org.apache.kafka.common.errors.SaslAuthenticationException.fillInStackTrace(Throwable.java:1)
""",
    """\
Traceback (most recent call last):
  File "/app/producer_fenced_exception.py", line 9, in transactional_id_authorization_failed
ZeroDivisionError: division by zero
""",
    "psycopg2.OperationalError: connection to server at localhost, port 5432 failed:"
    ' FATAL: password authentication failed for user "ana"',
    "docker: Error response from daemon: No such container: kafka",
    "ERROR: Could not find a version that satisfies the requirement kafka-pyhton",
    "requests.exceptions.SSLError: HTTPSConnectionPool(host='example.org', port=443):"
    " Max retries exceeded with url: /",
    "Py4JJavaError: An error occurred while calling o55.load. :"
    " java.lang.ClassNotFoundException: com.mysql.jdbc.Driver",
    "OSError: [Errno 28] No space left on device",
    "-1",
    "74",
    "the program ended with exit code 3",
    "HTTP 404, error code: 19",
    "Your password is about to expire. Please renew your certificate for the building.",
]
