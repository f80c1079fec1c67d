"""kubectl for the shop's programs: as much of it as somebody on call needs."""

from collections.abc import Iterator
from typing import NamedTuple

from minikafka.course.on_call import log_lines
from minikafka.course.on_call.apps import App, Happening, Pod
from minikafka.course.on_call.columns import columns
from minikafka.course.on_call.moments import duration_ms
from minikafka.course.on_call.usage import (
    Given,
    Refused,
    setting_of,
    whole,
    whole_or,
)
from minikafka.course.on_call.world import World

WAITING = "CrashLoopBackOff"
EVENTS = 20  # that are shown
NOT_FOUND = 'Error from server (NotFound): {} "{}" not found'
NO_POD = (
    "There is no pod {name!r}; there are {known}. All pods of a deployment together:"
    " deployment/APP."
)
NO_PREVIOUS = (
    'Error from server (BadRequest): previous terminated container "{}" in pod "{}" not'
    " found"
)
NO_RESOURCES = "No resources found in default namespace."
LABELS = ("app", "app.kubernetes.io/name", "name")
WORKERS = 3
ROLLED_OUT = 'deployment "{}" successfully rolled out'
WAITS = (
    'Waiting for deployment "{}" rollout to finish: {} of {} updated replicas are'
    " available..."
)
NO_LINES = "(nothing but the start of {})"
BACK_OFF = "back-off {wait} restarting failed container={app} pod={pod}_default"


class Owned(NamedTuple):
    """A pod, and the deployment that it is of."""

    app: App
    pod: Pod


def pods(world: World, given: Given) -> str:
    """kubectl get pods: the pods of all deployments, or one of them."""
    is_wide = given.get("--output") == "wide"
    wanted = given.get("POD", "").split()
    known = [pod.name for _, pod in _all_pods(world)]
    for name in wanted:
        if name not in known:
            return NOT_FOUND.format("pods", name)
    rows = [["NAME", "READY", "STATUS", "RESTARTS", "AGE"]]
    if is_wide:
        rows[0] += ["IP", "NODE"]
    for _, pod in _selected(world, given):
        if wanted and pod.name not in wanted:
            continue
        age = _ago(world, pod.lives[0])
        row = [pod.name, *_health(pod), _restarts(world, pod), age]
        if is_wide:
            row += [pod.address, _node(pod)]
        rows.append(row)
    if len(rows) == 1:
        return NO_RESOURCES
    return columns(rows, least=[14, 7, 18, 10], between="  ")


def everything(world: World, given: Given) -> str:
    """kubectl get all: pods and deployments."""
    return f"{pods(world, given)}\n\n{deployments(world, given)}"


def nodes(world: World, given: Given) -> str:
    """kubectl get nodes: the machines on which pods run. The brokers aren't among
    them.
    """
    rows = [["NAME", "STATUS", "ROLES", "AGE"]]
    for number in range(1, WORKERS + 1):
        rows.append([f"worker-{number}", "Ready", "<none>", "212d"])
    return columns(rows, least=[10, 8, 8], between="  ")


def _selected(world: World, given: Given) -> list[Owned]:
    """The pods of the app that --selector names; without one, all. Raises Refused."""
    if "--selector" not in given:
        return list(_all_pods(world))
    name = _labelled(given["--selector"])
    return [owned for owned in _all_pods(world) if owned.app.name == name]


def _labelled(selector: str) -> str:
    """The app that app=NAME selects. Raises Refused."""
    name, _, value = selector.replace("==", "=").partition("=")
    if name not in LABELS or not value:
        raise Refused(f"Pods have one label here, app: app=billing, not {selector!r}.")
    return value


def _node(pod: Pod) -> str:
    """The machine that it runs on: there are three."""
    last = int(pod.address.rpartition(".")[2])
    return f"worker-{last % WORKERS + 1}"


def deployments(world: World, given: Given) -> str:
    """kubectl get deployments"""
    rows = [["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]]
    for app in world.apps.values():
        if given.get("APP", app.name) != app.name:
            continue
        count = len(app.pods)
        up = sum(pod.is_up for pod in app.pods)
        age = _ago(world, app.since_ms)
        rows.append([app.name, f"{up}/{count}", str(count), str(up), age])
    if len(rows) == 1 and "APP" in given:
        return NOT_FOUND.format("deployments.apps", given["APP"])
    return columns(rows, least=[10, 5, 10, 9], between="   ")


def events(world: World, given: Given) -> str:
    """kubectl get events: the newest, the same again as one."""
    happened = _each_once(world)
    happened.sort(key=lambda happening: happening.at_ms)
    rows = [["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]]
    for happening in happened[-EVENTS:]:
        row = [
            _ago(world, happening.at_ms),
            happening.kind,
            happening.reason,
            happening.of,
            happening.message,
        ]
        rows.append(row)
    return columns(rows, least=[9, 7, 17], between="   ")


def _each_once(world: World) -> list[Happening]:
    """The events, with only the newest of equal ones."""
    newest: dict[tuple[str, str, str], Happening] = {}
    for app in world.apps.values():
        for happening in app.happened:
            same = (happening.reason, happening.of, happening.message)
            newest[same] = happening
    return list(newest.values())


def _all_pods(world: World) -> Iterator[Owned]:
    """The pods of all deployments, each with its app."""
    for app in world.apps.values():
        for pod in app.pods:
            yield Owned(app, pod)


def _health(pod: Pod) -> list[str]:
    """A pod's READY and STATUS columns."""
    if pod.is_up:
        return ["1/1", "Running"]
    return ["0/1", WAITING]


def _restarts(world: World, pod: Pod) -> str:
    """How many, and when the last was: 5 (2m10s ago)."""
    if not pod.restarts:
        return "0"
    return f"{pod.restarts} ({_ago(world, pod.lives[-1])} ago)"


def _duration(ms: int) -> str:
    """2m10s, as kubectl has it: less exact the longer it is."""
    minutes, seconds = divmod(ms // 1000, 60)
    if minutes < 2:
        return f"{60 * minutes + seconds}s"
    if minutes < 10 and seconds:
        return f"{minutes}m{seconds}s"
    return f"{minutes}m"


def _ago(world: World, at_ms: int) -> str:
    """How long ago a moment was, in kubectl's notation."""
    return _duration(world.now_ms - at_ms)


def describe_pod(world: World, given: Given) -> str:
    """kubectl describe pod POD: one, or all that are selected."""
    if "POD" in given:
        return _told(world, _owned(world, given["POD"]))
    return "\n\n".join(_told(world, owned) for owned in _selected(world, given))


def _told(world: World, owned: Owned) -> str:
    """One pod, as kubectl describes it."""
    app, pod = owned
    rows = [
        ("Name:", pod.name),
        ("Node:", _node(pod)),
        ("IP:", pod.address),
        ("Controlled By:", f"deployment/{app.name}"),
        *_state(app, pod),
        ("Ready:", str(pod.is_up)),
        ("Restart Count:", str(pod.restarts)),
        ("Environment:", ""),
    ]
    rows += [(f"  {name}:", value) for name, value in app.env.items()]
    return columns(rows, least=[20])


def _backing_off(app: App, pod: Pod) -> str:
    """Why the container isn't started yet, as the kubelet says it: 2m40s, 5m0s."""
    minutes, seconds = divmod(pod.pause_s, 60)
    wait = f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
    return BACK_OFF.format(wait=wait, app=app.name, pod=pod.name)


def _state(app: App, pod: Pod) -> list[tuple[str, str]]:
    """The pod's state, and how its last life ended."""
    state = [
        ("State:", "Running"),
        ("  Started:", log_lines.clock(pod.lives[-1])),
    ]
    if not pod.is_up:
        state = [
            ("State:", "Waiting"),
            ("  Reason:", WAITING),
            ("  Message:", _backing_off(app, pod)),
        ]
    death = pod.death
    if death is None:
        return state
    last_state = [
        ("Last State:", "Terminated"),
        ("  Reason:", death.reason),
        ("  Exit Code:", str(death.exit_code)),
        ("  Finished:", log_lines.clock(death.at_ms)),
    ]
    return state + last_state


def describe_app(world: World, given: Given) -> str:
    """kubectl describe deployment APP"""
    app = _app(world, given)
    count = len(app.pods)
    up = sum(pod.is_up for pod in app.pods)
    rows = [
        ("Name:", app.name),
        ("Namespace:", "default"),
        ("Selector:", f"app={app.name}"),
        ("Replicas:", f"{count} desired | {count} total | {up} available"),
        ("Environment:", ""),
    ]
    rows += [(f"  {name}:", value) for name, value in app.env.items()]
    return columns(rows, least=[20])


def app_logs(world: World, given: Given) -> str:
    """kubectl logs deployment/APP: of all its pods, and all their lives; with
    --previous, of the earlier life of those that were restarted.
    """
    app = _app(world, given)
    lines = log_lines.of_pods(world.brokers.events, app)
    if "--previous" in given:
        restarted = [pod for pod in app.pods if _life(world, given, pod)]
        if not restarted:
            names = [pod.name for pod in app.pods]
            return NO_PREVIOUS.format(app.name, names[0]) if names else NO_RESOURCES
        lines = [line for pod in restarted for line in _of(world, given, app, pod)]
    return _shown(world, given, lines, app.name)


def selected_logs(world: World, given: Given) -> str:
    """kubectl logs --selector app=APP"""
    return app_logs(world, {**given, "APP": _labelled(given["--selector"])})


def _shown(world: World, given: Given, lines: list[log_lines.Line], name: str) -> str:
    """The lines of a log that --tail and --since leave."""
    since_ms = 0
    most = log_lines.LINES
    if "--since" in given:
        since_ms = world.now_ms - duration_ms("--since", given["--since"])
        most = len(lines)
    if given.get("--tail") == "-1":
        most = len(lines)
    elif "--tail" in given:
        most = whole(given, "--tail")
    said = log_lines.shown(lines, most, since_ms)
    return said or ("" if "--since" in given else NO_LINES.format(name))


def pod_logs(world: World, given: Given) -> str:
    """kubectl logs POD: of its life now, or with --previous the one before."""
    app, pod = _owned(world, given["POD"])
    if _life(world, given, pod) is None:
        return NO_PREVIOUS.format(app.name, pod.name)
    return _shown(world, given, _of(world, given, app, pod), pod.name)


def _life(world: World, given: Given, pod: Pod) -> tuple[int, int] | None:
    """When the life began whose log is meant, and when it ended; None if there was
    none.
    """
    # a dead pod has no life now: then both are of the one that it had
    wants_earlier = "--previous" in given and pod.is_up
    if not wants_earlier:
        return pod.lives[-1], world.now_ms + 1
    return (pod.lives[-2], pod.lives[-1]) if pod.restarts else None


def _of(world: World, given: Given, app: App, pod: Pod) -> list[log_lines.Line]:
    """The lines that a pod logged in the life that is meant."""
    began_ms, ended_ms = _life(world, given, pod) or (0, 0)
    lines = []
    for line in log_lines.of_pods(world.brokers.events, app):
        is_its = line.words.startswith(f"{pod.name} ")
        if is_its and began_ms <= line.at_ms < ended_ms:
            lines.append(line)
    return lines


def env(world: World, given: Given) -> str:
    """kubectl set env deployment/APP --list"""
    app = _app(world, given)
    lines = [f"# Deployment {app.name}, container {app.name}"]
    lines += [f"{name}={value}" for name, value in app.env.items()]
    return "\n".join(lines)


def set_env(world: World, given: Given) -> str:
    """kubectl set env deployment/APP NAME=VALUE ..."""
    app = _app(world, given)
    changes: dict[str, str | None] = {}
    for pair in given["NAME=VALUE"].split():
        if pair.endswith("-") and "=" not in pair:
            changes[pair.removesuffix("-")] = None
            continue
        setting = setting_of(pair)
        check_may_change(setting.name)
        changes[setting.name] = setting.value
    if not changes:
        raise Refused("kubectl set env needs NAME=VALUE.")
    app.set_env(changes)
    return f"deployment.apps/{app.name} env updated"


def check_may_change(name: str) -> None:
    """How long work takes is shown among a program's variables and set by nobody on
    call. Raises Refused.
    """
    if name == "work.ms":
        raise Refused("How long an order takes isn't a setting: it's the work itself.")


def scale(world: World, given: Given) -> str:
    """kubectl scale deployment/APP --replicas N"""
    app = _app(world, given)
    app.scale(whole(given, "--replicas"))
    return f"deployment.apps/{app.name} scaled"


def undo(world: World, given: Given) -> str:
    """kubectl rollout undo deployment/APP: what it ran with before."""
    app = _app(world, given)
    if not app.earlier:
        return f'error: no rollout history found for deployment "{app.name}"'
    revision = whole_or(given, "--to-revision", len(app.earlier), least=1)
    if revision > len(app.earlier):
        return f"error: unable to find specified revision {revision} in history"
    before = app.earlier[revision - 1]
    for name, value in before.items():
        if value != app.env.get(name):
            check_may_change(name)
    app.roll_out(before)
    return f"deployment.apps/{app.name} rolled back"


def roll_out_status(world: World, given: Given) -> str:
    """kubectl rollout status deployment/APP: the real one waits until it is done."""
    app = _app(world, given)
    up = sum(pod.is_up for pod in app.pods)
    if up == len(app.pods):
        return ROLLED_OUT.format(app.name)
    return WAITS.format(app.name, up, len(app.pods))


def history(world: World, given: Given) -> str:
    """kubectl rollout history deployment/APP"""
    app = _app(world, given)
    rows = [["REVISION", "CHANGE-CAUSE"]]
    rows += [[str(number + 1), "<none>"] for number in range(len(app.earlier) + 1)]
    return f"deployment.apps/{app.name}\n{columns(rows, between='  ')}"


def delete_pods(world: World, given: Given) -> str:
    """kubectl delete pod POD: its deployment starts another."""
    if "--selector" in given:
        owned = _selected(world, given)
    else:
        owned = [_owned(world, name) for name in given["POD"].split()]
    if not owned:
        raise Refused("Which pod? For example, kubectl delete pod billing-a1.")
    lines = []
    for app, pod in owned:
        app.replace(pod)
        lines.append(f'pod "{pod.name}" deleted from default namespace')
    return "\n".join(lines)


def roll_out(world: World, given: Given) -> str:
    """kubectl rollout restart deployment/APP"""
    app = _app(world, given)
    app.roll_out()
    return f"deployment.apps/{app.name} restarted"


def _app(world: World, given: Given) -> App:
    """The deployment that is named. Raises Refused."""
    name = given["APP"]
    if name not in world.apps:
        known = ", ".join(world.apps)
        raise Refused(f"There is no deployment {name!r}; there are {known}.")
    return world.apps[name]


def _owned(world: World, name: str) -> Owned:
    """The pod that is named. Raises Refused."""
    known = []
    for owned in _all_pods(world):
        if owned.pod.name == name:
            return owned
        known.append(owned.pod.name)
    raise Refused(NO_POD.format(name=name, known=", ".join(known)))
