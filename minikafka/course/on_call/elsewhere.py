"""Programs that people type and that a night doesn't have: what to type instead."""

PROCESS = "systemctl status kafka-1 says whether a broker runs"
NUMBERS = "metrics shows what the monitoring has measured"
WITHOUT_FILES = (
    "journalctl kafka-1 shows a broker's log, du kafka-1 the sizes of its folders, and"
    " kafka-configs --describe --entity-type brokers --entity-name 1 --all what is in"
    " server.properties."
)
NO_FOLDERS = f"There are no files to look at here. {WITHOUT_FILES}"
ONLY_CERTIFICATES = (
    "There are no files to look at here but certificates, on a night with TLS: ls -l"
    f" /etc/kafka/ssl kafka-1. {WITHOUT_FILES}"
)
NO_THREADS = (
    "You can't look into a process here: kubectl logs POD shows a program's log,"
    " journalctl kafka-1 a broker's."
)
NO_CPU = (
    f"CPU and memory aren't simulated, so they never run short: {PROCESS}, kubectl get"
    f" pods how the programs are, and {NUMBERS}."
)
NO_SOCKETS = (
    "Connections can't be listed here: kafka-consumer-groups --describe --group GROUP"
    f" --members shows who is connected as a member, and {PROCESS}."
)
NO_NETWORK = (
    "That isn't here. nc -zv kafka-2 9092 says whether a port answers,"
    " kafka-metadata-quorum describe --replication when each broker was last heard of,"
    " and journalctl kafka-1 whom it misses."
)
NO_TYPING = (
    "Nobody types records on this cluster at night: the shop writes, and"
    " kafka-console-consumer shows what it wrote."
)
BY_DF = "For disks there are df -h, and lvextend --resizefs --size +100K kafka-1."
NO_ZOOKEEPER = (
    "Kafka has had no ZooKeeper since 4.0: kafka-metadata-quorum describe --status."
)
BY_SYSTEMCTL = "systemctl start kafka-1, stop and restart do that here."
NO_KILL = "systemctl stop kafka-1 stops a broker, kubectl delete pod POD a pod."
NO_MANUAL = (
    "incident.ask() lists the lines that look, and incident.act() those that change"
    " something."
)
NO_REPOSITORY = (
    "Nothing is rolled out from a repository at night: kubectl set env and kubectl"
    " scale change a program, kafka-configs a topic or a broker, and systemctl restarts"
    " a broker."
)
BY_OPENSSL = (
    "openssl s_client -connect kafka-1:9094 shows the certificate of a port with TLS,"
    " ssh kafka-1 openssl x509 -noout -enddate -in FILE the one in a file."
)
NO_COPIES = (
    "Files stay as they are here. Which of them a broker reads is among its configs,"
    " and kafka-configs changes those."
)
NO_FILTER_FIRST = (
    "There are no files for {} to read, so put it behind a command and |. For a"
    " broker's log type journalctl kafka-1."
)

NOT_HERE = {
    "curl": f"There is no endpoint to ask: {NUMBERS}, metrics --names Kafka's names.",
    "dmesg": (
        "kubectl describe pod POD says why a pod died, journalctl what a broker says."
    ),
    "kcat": "kafka-console-consumer reads, and kafka-topics --describe lists.",
    "kafka-acls": "This cluster has no authorizer, so there are no ACLs.",
    "kafka-broker-api-versions": (
        "All three brokers are of one version. kafka-metadata-quorum describe --status"
        " and kafka-topics --list say whether they answer."
    ),
    "kafka-cluster": (
        "kafka-metadata-quorum describe --status begins with the ClusterId."
    ),
    "kafka-features": (
        "All three brokers are of one version, and so are their features."
    ),
    "kafka-delete-records": (
        "It reads its offsets from a file, and a night has no files. How long a topic"
        " keeps its records is a config of it: kafka-configs."
    ),
    "kafka-dump-log": (
        "kafka-console-consumer shows the records, and kafka-transactions"
        " describe-producers their producers."
    ),
    "kafka-groups": (
        "kafka-consumer-groups --list --state: they are all consumer groups."
    ),
    "kafka-jmx": f"There is no JMX to ask: {NUMBERS}, metrics --names Kafka's names.",
    "kafka-run-class": "Call each tool by its own name, such as kafka-get-offsets.",
    "kafka-server-start": BY_SYSTEMCTL,
    "kafka-server-stop": BY_SYSTEMCTL,
    "service": BY_SYSTEMCTL,
    "helm": (
        "The programs were not installed by helm: kubectl rollout undo deployment/APP."
    ),
    "docker": "The programs are pods: kubectl get pods, kubectl logs POD.",
    "xargs": "One command per line: type one after the other.",
    "alias": "k is kubectl here, and there are no other aliases: write the whole line.",
    "echo": "There are no variables here: write kafka-1:9092 in each line.",
    "clear": "There is no need to: each cell prints only what its own lines say.",
    "oc": "It's kubectl here: kubectl get pods instead of oc get pods.",
    "rm": (
        "Never delete a broker's files by hand: a broker that runs has them open, and"
        " one that starts wants them whole. Kafka's own tools change a topic:"
        " kafka-configs and kafka-topics."
    ),
}
ALIKE = {
    ONLY_CERTIFICATES: (
        "ls", "find", "cat", "less", "more", "vi", "vim", "nano", "stat", "cd",
    ),
    NO_THREADS: ("jstack", "jcmd", "jmap", "jstat", "jps", "strace", "gdb", "arthas"),
    NO_CPU: (
        "top", "htop", "free", "vmstat", "iostat", "uptime", "sar", "ps", "mpstat",
    ),
    NO_SOCKETS: ("ss", "netstat", "lsof"),
    NO_NETWORK: (
        "ping", "telnet", "traceroute", "dig", "nslookup", "host", "ip",
        "tcpdump",
        "mtr", "ethtool", "iptables",
    ),
    NO_TYPING: (
        "kafka-console-producer", "kafka-verifiable-producer",
        "kafka-producer-perf-test",
        "kafka-consumer-perf-test",
    ),
    BY_DF: (
        "lsblk", "lvs", "vgs", "pvs", "lvdisplay", "vgdisplay", "resize2fs",
        "xfs_growfs",
        "mount", "fdisk", "vgextend", "smartctl",
    ),
    NO_ZOOKEEPER: ("zookeeper-shell", "zkCli", "zookeeper-server-start"),
    NO_MANUAL: ("man", "help", "info", "tldr", "apropos", "which", "history"),
    NO_REPOSITORY: (
        "terraform", "tofu", "pulumi", "ansible", "ansible-playbook", "argocd", "flux",
        "git", "kustomize",
    ),
    BY_OPENSSL: ("keytool", "nmap", "sslscan", "testssl", "gnutls-cli", "certtool"),
    NO_COPIES: ("cp", "mv", "ln", "scp", "rsync", "chmod", "chown"),
    NO_KILL: ("kill", "pkill", "killall", "reboot", "shutdown"),
}  # fmt: skip
for said, programs in ALIKE.items():
    NOT_HERE |= dict.fromkeys(programs, said)
for program in (
    "jq",
    "sed",
    "grep",
    "egrep",
    "head",
    "tail",
    "wc",
    "sort",
    "uniq",
    "cut",
    "awk",
    "tr",
    "tee",
):
    NOT_HERE[program] = NO_FILTER_FIRST.format(program)

# options of programs that a night has
OPTIONS = {
    "kafka-console-consumer": {
        "--group": (
            "With --group it would join the group, take partitions from its members and"
            " commit. Leave it out: a console consumer has a group of its own."
        ),
        "--formatter": (
            "--formatter isn't here. What Kafka's own topics say, tools say better:"
            " kafka-consumer-groups --describe, kafka-transactions list."
        ),
        "--include": "One topic at a time here: --topic TOPIC.",
        "--whitelist": "One topic at a time here: --topic TOPIC.",
    },
    "kafka-reassign-partitions": dict.fromkeys(
        ("--generate", "--execute", "--verify", "--cancel", "--throttle"),
        "It reads its plan from a file, and a night has no files: replicas stay where"
        " they are. kafka-reassign-partitions --list says whether any move;"
        " kafka-leader-election moves leaders.",
    ),
    "kafka-leader-election": {
        "--path-to-json-file": (
            "There are no files here: --topic TOPIC --partition N, or"
            " --all-topic-partitions."
        ),
        "--admin.config": "This cluster asks for no credentials: leave it out.",
    },
    "kafka-consumer-groups": {
        "--from-file": (
            "There are no files here: --to-offset N for each --topic orders:0."
        ),
        "--export": "There are no files here: --dry-run prints the new offsets.",
        "--delete-offsets": (
            "Offsets aren't deleted one by one here: --reset-offsets sets them, and"
            " --delete --group GROUP deletes them all."
        ),
    },
    "kafka-topics": {
        "--replica-assignment": (
            "Brokers aren't chosen by hand here: --replication-factor N."
        ),
        "--zookeeper": NO_ZOOKEEPER,
    },
    "kafka-metadata-quorum": dict.fromkeys(
        ("add-controller", "remove-controller"),
        "The same three voters stay for the whole night. systemctl start kafka-2 brings"
        " one back.",
    ),
    "journalctl": {
        "-p": "Lines have no priority here: use | grep -i error instead.",
        "-k": "The kernel has no journal here: journalctl kafka-1 is a broker's.",
        "-b": "A journal goes back to midnight, through all restarts: leave -b out.",
    },
    "lvextend": dict.fromkeys(
        ("-l", "--extents"),
        "Say how much is added: lvextend --resizefs --size +100K kafka-1.",
    ),
    "openssl": {
        **dict.fromkeys(
            ("pkcs12", "storeutl", "rsa", "ec", "pkey", "req", "ca", "ciphers"),
            f"Certificates are PEM here: {BY_OPENSSL}",
        ),
        "-starttls": "Kafka's TLS begins at once: leave -starttls out.",
        "-dateopt": "Dates are as openssl prints them by itself: leave -dateopt out.",
    },
    "kubectl": {
        "--since-time": "--since takes a duration: --since 10m.",
    },
}
KUBECTL = {
    "top": (
        "error: Metrics API not available. Nothing measures the CPU and the memory of"
        " pods here: kubectl get pods and kubectl describe pod POD tell how they"
        " live, and metrics what Kafka measures."
    ),
    "exec": (
        "There is no shell in a pod: kubectl logs POD shows what it says. The brokers"
        " are"
        " no pods, they are machines: ssh kafka-1 df -h."
    ),
    "edit": "There is no editor: kubectl set env and kubectl scale change a program.",
    "apply": "There are no files: kubectl set env and kubectl scale change a program.",
    "patch": "kubectl set env and kubectl scale change a program here.",
    "create": "The programs are there: kubectl get deployments.",
    "run": "The programs are there: kubectl get deployments.",
    "attach": "kubectl logs POD shows what a pod says.",
    "debug": (
        "kubectl logs POD and kubectl describe pod POD are all you can see of a pod."
    ),
    "port-forward": "No pod listens to anything: kubectl logs POD, and metrics.",
    "cp": "There are no files: kubectl logs POD shows what a pod says.",
    "drain": "The nodes are fine: kubectl delete pod POD moves one pod.",
    "cordon": "The nodes are fine: kubectl delete pod POD moves one pod.",
    "autoscale": "kubectl scale deployment/APP --replicas N scales by hand.",
    "config": "There is one cluster, and one namespace: default.",
    "cluster-info": "There is one cluster: kubectl get pods.",
    "version": (
        "kubectl get pods, kubectl describe pod POD and kubectl logs POD work here."
    ),
    "wait": "incident.wait(minutes=1), then kubectl get pods.",
}
DESCRIBED = (
    "kubectl describe knows pods and deployments here, not {!r}: kubectl get events and"
    " kubectl get nodes show the rest."
)
KINDS = (
    "kubectl get knows pods, deployments, events and nodes here, not {!r}: the programs"
    " have nothing else. Their variables: kubectl set env deployment/APP --list."
)
