"""Lesson 22: incidents on three simulated brokers with load.

    incident = on_call("night-03")
    incident.ask("kafka-consumer-groups --describe --group billing")
    incident.cause(2)
    incident.act("kubectl scale deployment/billing --replicas 6")
    incident.wait(minutes=5)
    incident.report()

The brokers and the clients are those of the simulation, so what the tools print is what
the cluster answers.

Open, to change

    what an incident is made of     plans.py; each is a file in incidents/
    what goes wrong in it           mishaps.py
    when its cause is gone          wellness.py
    what a learner can do           incident.py
    which command lines there are   tools.py; usage.py has their grammar, shell.py and
                                    filters.py what a shell does, habits.py what people
                                    type instead, elsewhere.py what isn't there,
                                    addresses.py which brokers a line asks
    what a command prints           tools_*.py, by the tool; columns.py, screen.py
    what is measured                monitoring.py; metrics.py has the names, strip.py
                                    the picture, live.py draws it while time passes
    the listener with TLS           tls.py, certificates.py; x509.py has OpenSSL's words
    the machines and the programs   brokers.py, disks.py, log_lines.py; apps.py,
                                    programs.py; all together in world.py
    the fate of the orders          orders.py, fates.py (lost), again.py (repeated)
    the report                      report.py
"""

from minikafka.course.on_call import plans
from minikafka.course.on_call.incident import Incident


def on_call(name: str) -> Incident:
    """Begin a night: print the call that wakes you. name: of an incident, or the path
    of a teacher's own file.
    """
    incident = Incident(plans.read(name))
    print(incident.opening())
    return incident
