"""The commands of this project, on every system, with nothing but Python: make calls
this file too.

    python3 tasks.py lab          set up, then open the course        (Windows: py tasks.py lab)
    python3 tasks.py setup        set up, and open nothing; with --wheels DIR from that folder, without a network
    python3 tasks.py wheels DIR   fetch what set-up needs into a folder, for machines without a network: of this kind,
                                  of those named (windows-3.12 mac-3.13), or of all; spark adds Spark
    python3 tasks.py kafka        Apache Kafka: the three brokers of docker/compose.yaml, without Docker
    python3 tasks.py test         tests of all that a change can break, and what they need; with arguments pytest alone
    python3 tasks.py nightly      every test there is: all seeds, Apache Kafka's side, all lessons solved, the image
    python3 tasks.py quick        the tests of every day, in about a minute: no Java, browser, real clients or lessons
    python3 tasks.py measure      how large and how dense the code is, beside h11, asyncio and kafka-python; the lessons
    python3 tasks.py bench        minikafka against Apache Kafka on this machine
    python3 tasks.py soak         hostile requests, kill -9, damaged disks: --minutes 60 goes on for an hour
    python3 tasks.py site         the course as static files for a web host, in build/site; or --out DIR
    python3 tasks.py notebooks    run the lessons again and re-write their stored outputs: all, or those named (01 17)
    python3 tasks.py clean        remove what these commands made, but never your own notebooks in my/

Standard library only: this runs before anything is installed.
"""

import contextlib
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
CACHE = ROOT / ".cache"
LOG, WHEELS_LOG = CACHE / "install.log", CACHE / "wheels.log"
OLDEST, NEWEST = (3, 11), (3, 14)
# Apache Kafka, which tests compare with; at night, the version before it, too.
KAFKA_VERSION, PREVIOUS_KAFKA = "4.4.0", "4.3.1"
DEBIAN_PACKAGES = {
    "java": "openjdk-17-jre-headless",
    "mvn": "maven",
    "chromium": "chromium",
    "firefox-esr": "firefox-esr",
    "rabbitmq-server": "rabbitmq-server",
}
# brings a service that would be started where systemd runs: that is for the machine's
# owner to decide, and the tests need the program only
SERVICES = ("rabbitmq-server",)
SIZES = {
    "lab": "about 80 MB, 400 MB on the disk; one to three minutes",
    "test": "about 1.5 GB, three to eight minutes",
    "wheels": "about 80 MB",
    "spark": "another 600 MB",
}
# kind of machine: what uv calls it, and which wheels pip may take for it
KINDS = {
    "windows": ("x86_64-pc-windows-msvc", ("win_amd64",)),
    "mac": ("aarch64-apple-darwin", ("macosx_13_0_arm64",)),
    "mac-intel": ("x86_64-apple-darwin", ("macosx_13_0_x86_64",)),
    "linux": (
        "x86_64-manylinux_2_28",
        ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64"),
    ),
    "linux-arm": (
        "aarch64-manylinux_2_28",
        ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64"),
    ),
}
USUAL_KINDS = ("windows", "mac", "linux")  # "all"
# each lesson has a pytest of its own that needs nbval
SHARED = ("--dist", "loadgroup", "--no-loadscope-reorder", "-p", "no:nbval")
# of all tests many wait more than they compute, for a session to end or a JVM to start
WORKERS, QUICK_WORKERS = ("-n", "6", *SHARED), ("-n", "3", *SHARED)
GATE, EVERY_DAY = (
    "not nightly",
    "not nightly and not slow and not java and not spark and not browser",
)
WINDOWS = os.name == "nt"


class Stop(Exception):
    """Set-up can't go on; the message says why and what to do, in plain words."""


def say(text):
    print(text, flush=True)


# --- Python and its packages ----------------------------------------------------------


def version_of(python):
    """(major, minor) of an interpreter, given as a command line, or None if it doesn't
    run.
    """
    try:
        code = "import sys; print(*sys.version_info[:2])"
        done = subprocess.run(
            [*python, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return tuple(int(number) for number in done.stdout.split())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def fits(version):
    return version is not None and OLDEST <= version <= NEWEST


def find_python():
    """The command line of a Python that fits: this one, or another one of the
    machine.
    """
    if fits(sys.version_info[:2]):
        return [sys.executable]
    minors = range(NEWEST[1], OLDEST[1] - 1, -1)
    candidates = [
        ["py", f"-3.{minor}"] if WINDOWS else [f"python3.{minor}"] for minor in minors
    ]
    for candidate in candidates:
        if shutil.which(candidate[0]) and fits(version_of(candidate)):
            return candidate
    raise Stop(
        f"Python 3.{OLDEST[1]} to 3.{NEWEST[1]} is needed, and this is"
        f" {sys.version.split()[0]}.\n  Windows, macOS:  install 3.14 from python.org\n"
        "  Debian, Ubuntu:  sudo apt install python3 python3-venv\n  with conda:     "
        " conda env create -f environment.yml, conda activate minikafka, then this"
        " command again"
    )


def in_conda():
    """Are we in the environment that environment.yml makes? Then it is used as it is,
    without a .venv.
    """
    return os.environ.get("CONDA_DEFAULT_ENV") == "minikafka" and bool(
        os.environ.get("CONDA_PREFIX")
    )


def venv_python():
    if in_conda():
        return Path(sys.executable)
    return VENV / ("Scripts/python.exe" if WINDOWS else "bin/python")


def make_venv():
    """A .venv that runs. One whose Python has gone is made anew."""
    if in_conda() or fits(version_of([str(venv_python())])):
        return
    python = find_python()
    say(f"Making .venv with Python {'.'.join(map(str, version_of(python)))} ...")
    done = subprocess.run(
        [*python, "-m", "venv", "--clear", str(VENV)], capture_output=True, text=True
    )
    if done.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        what = (done.stdout + done.stderr).strip()
        if "ensurepip" in what or "No module named venv" in what:
            raise Stop(
                "This Python comes without its venv module. Debian, Ubuntu:  sudo apt"
                " install python3-venv"
            )
        raise Stop(f"Python could not make .venv:\n{what}")


def fingerprint(extras):
    """Changes when what is to be installed, or where, changes."""
    parts = [
        (ROOT / "pyproject.toml").read_bytes(),
        str(ROOT).encode(),
        ",".join(extras).encode(),
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


@contextlib.contextmanager
def alone():
    """One command at a time in here: two that install into one .venv, or look for a
    free port, spoil it for each other. Entered again within one command it lets that
    in.
    """
    if held:
        yield
        return
    CACHE.mkdir(exist_ok=True)
    with open(CACHE / "one-at-a-time.lock", "a+b") as lock:
        if not locked(lock):
            say(
                "Another set-up or start runs in this folder: waiting until it is"
                " ready ..."
            )
            while not locked(lock):
                time.sleep(0.5)
        held.append(lock)  # closing the file gives the lock back, and so does a kill
        try:
            yield
        finally:
            held.clear()


held = []  # the lock, by this command


def locked(file):
    """Takes the lock unless another process has it."""
    try:
        if WINDOWS:
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def install(extras, size, options=()):
    """pip install -e .[extras] into .venv. Takes no time when it was done before.
    options: pip's.
    """
    with alone():
        return install_alone(extras, size, options)


def install_alone(extras, size, options):
    """Returns whether anything was to be done."""
    make_venv()
    wanted = fingerprint(extras)
    stamp = (
        CACHE / "installed.json" if in_conda() else VENV / "minikafka-installed.json"
    )
    done = json.loads(stamp.read_text()) if stamp.exists() else {}
    if any(
        set(extras) <= set(names.split(",")) and mark == fingerprint(names.split(","))
        for names, mark in done.items()
    ):
        return False
    say(f"Installing Python packages ({size}; later starts skip this) ...")
    pip(
        [*options, *(["--no-deps"] if in_conda() else [])],
        f"{ROOT}[{','.join(extras)}]",
    )
    configure_jupyter()
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(json.dumps({**done, ",".join(extras): wanted}))
    return True


def pip(options, target):
    """Installs an editable target."""
    follow([*talking_pip("install"), *options, "-e", target], LOG)


def follow(command, log_file):
    """Runs pip with its talk in a log file; says how far it is."""
    CACHE.mkdir(exist_ok=True)
    collected, began = 0, time.monotonic()
    with log_file.open("w", encoding="utf-8") as log:
        pipes = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
        }
        process = subprocess.Popen(command, text=True, errors="replace", **pipes)
        for line in process.stdout:
            log.write(line)
            collected += line.startswith("Collecting ")
            if line.startswith("Collecting ") and collected % 25 == 0:
                say(f"  {collected} packages found ({time.monotonic() - began:.0f} s)")
            if line.startswith("Installing collected packages"):
                say(f"  all fetched, installing ({time.monotonic() - began:.0f} s)")
    if process.wait():
        explain_pip(log_file)
    say(f"  done ({time.monotonic() - began:.0f} s)")


def explain_pip(log_file):
    text = log_file.read_text(encoding="utf-8", errors="replace")
    last = "\n".join(f"  {line}" for line in text.strip().splitlines()[-8:])
    if any(
        sign in text
        for sign in (
            "NewConnectionError",
            "ConnectTimeout",
            "getaddrinfo",
            "Max retries",
        )
    ):
        raise Stop(
            "pip could not reach the package index. Is this machine online? Does it"
            f" need HTTPS_PROXY?\n{last}"
        )
    # wheels asks for other machines than this one
    if "No matching distribution" in text and log_file == LOG:
        kind = (
            f"Python {'.'.join(map(str, version_of([str(venv_python())])))} on"
            f" {sys.platform}"
        )
        raise Stop(
            f"A package is not there for {kind}. A folder of wheels fits some kinds of"
            f" machines only.\n{last}"
        )
    if "No space left" in text:
        raise Stop(f"The disk is full.\n{last}")
    raise Stop(
        f"pip could not get the packages. The end of {log_file.name} in .cache:\n{last}"
    )


def configure_jupyter():
    """A kernel that keeps what child processes print (a JVM's log lines) out of cells;
    a JupyterLab without pop-ups.
    """
    share = Path(sys.prefix if in_conda() else VENV) / "share" / "jupyter"
    argv = [str(venv_python()), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    argv += ["--IPKernelApp.capture_fd_output=False", "--IPKernelApp.log_level=ERROR"]
    kernel = {
        "argv": argv,
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    quiet = {
        "@jupyterlab/apputils-extension:notification": {
            "fetchNews": "false",
            "checkForUpdates": False,
        }
    }
    for place, content in {
        "kernels/python3/kernel.json": kernel,
        "lab/settings/overrides.json": quiet,
    }.items():
        (share / place).parent.mkdir(parents=True, exist_ok=True)
        (share / place).write_text(json.dumps(content, indent=1))


def run(command, **options):
    """Runs a command in the project's folder; a failure stops everything."""
    done = subprocess.run(command, cwd=ROOT, check=False, **options)
    if done.returncode:
        raise Stop(f"this failed: {' '.join(map(str, command))[:200]}")


# --- lab ------------------------------------------------------------------------------


def setup(args):
    """What the lessons need (without PySpark: lesson 17 asks for it), and the learner's
    copies of them. With --wheels DIR from that folder; with PySpark, if it has that.
    """
    if args and (len(args) != 2 or args[0] != "--wheels"):
        raise Stop(
            "This is how it goes: tasks.py setup, or tasks.py setup --wheels DIR"
        )
    if args:
        setup_from(Path(args[1]).resolve())
    else:
        install(["lab"], SIZES["lab"])
    code = (
        "from minikafka.course.editions import make_copies\nfor path in make_copies():"
        " print(f'  my/{path.name}')"
    )
    done = subprocess.run(
        [str(venv_python()), "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        raise Stop(f"The lessons could not be copied to my/:\n{done.stderr.strip()}")
    if done.stdout:
        say(f"Your own copies of the lessons:\n{done.stdout.rstrip()}")
    return 0


def setup_from(folder):
    """Set-up from a folder that `tasks.py wheels` has filled."""
    if not folder.is_dir():
        raise Stop(f"There is no folder {folder}.")
    if not any(folder.glob("*.whl")):
        raise Stop(
            f"There are no wheels in {folder}. Fill it first, on a machine with a"
            f" network:  python3 (Windows: py) tasks.py wheels {folder}"
        )
    has_spark = any(folder.glob("pyspark-*.whl"))
    extras = ["lab", "spark"] if has_spark else ["lab"]
    options = [f"--find-links={folder}", "--no-index"]
    if not install(extras, "from the folder, one to five minutes", options):
        say(f"This course is set up already, so nothing of {folder} was used.")
    if has_spark:
        code = "import pyspark; print(pyspark.__path__[0])"
        done = subprocess.run(
            [str(venv_python()), "-c", code], capture_output=True, text=True, check=True
        )
        for jar in folder.glob("*.jar"):
            shutil.copy(jar, Path(done.stdout.strip()) / "jars")


def wheels(args):
    """Fetches the wheels that set-up installs, for machines of this kind or of others:
    a folder may hold those of all.
    """
    if not args or args[0].startswith("-"):
        raise Stop(f"This is how it goes: tasks.py wheels DIR [KIND ...]\n{KINDS_HELP}")
    folder, words = Path(args[0]).resolve(), args[1:]
    kinds = kinds_of([word for word in words if word != "spark"])
    folder.mkdir(parents=True, exist_ok=True)
    with alone():
        make_venv()
        run([*venv_pip("install"), "uv"])  # pip resolves for its own machine only
    for kind, python in kinds:
        say(f"Fetching wheels for {kind}-{python} ({SIZES['wheels']}) ...")
        fetch_wheels(folder, kind, python, "spark" in words)
    if "spark" in words:
        fetch_spark(folder)
    say(
        "Done. On such a machine, without a network:  python3 (Windows: py) tasks.py"
        f" setup --wheels {args[0]}"
    )
    return 0


KINDS_HELP = (
    "  A kind is a system and a Python, such as windows-3.12 or mac-3.13. The systems:"
    f" {', '.join(KINDS)}.\n  Without one: this machine's. all: {', '.join(USUAL_KINDS)}"
    f" with Python 3.{OLDEST[1]} to 3.{NEWEST[1]}. spark: Spark, too."
)


def kinds_of(words):
    """A (system, Python version) for every kind that is named; this machine's if none
    is.
    """
    versions = [f"3.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1)]
    if words == ["all"]:
        return [(system, version) for system in USUAL_KINDS for version in versions]
    found = []
    for word in words or [this_kind()]:
        system, _, version = word.rpartition("-")
        if system not in KINDS or version not in versions:
            raise Stop(f"{word} is no kind of machine.\n{KINDS_HELP}")
        found.append((system, version))
    return found


def this_kind():
    """The kind of this machine, with the Python that runs this."""
    is_arm = platform.machine().lower() in ("arm64", "aarch64")
    system = {
        "Windows": "windows",
        "Darwin": "mac" if is_arm else "mac-intel",
        "Linux": "linux-arm" if is_arm else "linux",
    }.get(platform.system(), platform.system())
    return f"{system}-{sys.version_info[0]}.{sys.version_info[1]}"


def fetch_wheels(folder, kind, python, with_spark):
    """The wheels for one kind of machine. PySpark itself has none: see fetch_spark."""
    target, tags = KINDS[kind]
    code = (
        "import tomllib; file = tomllib.load(open('pyproject.toml', 'rb'));"
        " extras = file['project']['optional-dependencies'];"
        " print(*file['project']['dependencies'], *extras['lab'],"
        " *file['build-system']['requires'],"
        " *(extras['spark'] if WITH_SPARK else []), sep='\\n')"
    ).replace("WITH_SPARK", str(with_spark))
    needs = said_by([venv_python(), "-c", code]).splitlines()
    wanted = "\n".join(each for each in needs if not each.startswith("pyspark"))
    CACHE.mkdir(exist_ok=True)
    asked, exact = CACHE / "wheels.in", CACHE / "wheels.txt"
    asked.write_text(wanted + "\n", encoding="utf-8")
    uv = [venv_python(), "-m", "uv", "pip", "compile", asked, "--output-file", exact]
    quiet = ["--quiet", "--no-header", "--no-annotate", "--upgrade"]
    kind_options = ["--python-platform", target, "--python-version", python]
    run([*map(str, uv), *quiet, *kind_options, *index_options()])
    platforms = [f"--platform={tag}" for tag in (*tags, "any")]
    only = ["--no-deps", "--only-binary=:all:", "--implementation=cp"]
    follow(
        [
            *talking_pip("download"),
            *only,
            *platforms,
            f"--python-version={python}",
            f"--dest={folder}",
            f"--requirement={exact}",
        ],
        WHEELS_LOG,
    )


def fetch_spark(folder):
    """PySpark, made into a wheel once for all machines, and the jars of its Kafka
    connector, which one start of Spark fetches.
    """
    install(["lab", "spark"], SIZES["spark"])
    say(f"Making PySpark's wheel ({SIZES['spark']}) ...")
    code = (
        "import tomllib; print(*[each for each in tomllib.load(open('pyproject.toml',"
        " 'rb'))['project']['optional-dependencies']['spark'] if"
        " each.startswith('pyspark')])"
    )
    pyspark = said_by([venv_python(), "-c", code]).strip()
    run([*venv_pip("wheel"), f"--wheel-dir={folder}", pyspark])
    code = (
        "import os; from minikafka.course import spark;"
        " os.environ[spark.VARIABLE] = spark.PACKAGES; session = spark.session();"
        " print(session.conf.get('spark.jars', '')); session.stop()"
    )
    jars = said_by([venv_python(), "-c", code]).strip().splitlines()[-1]
    for jar in filter(None, jars.split(",")):
        shutil.copy(jar.removeprefix("file://"), folder)


def said_by(command):
    """What a command prints. One that fails stops everything, with its last words."""
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Stop(done.stderr.strip()[-600:])
    return done.stdout


def talking_pip(command):
    """A command of pip's in .venv, for follow."""
    quiet = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off")
    return [str(venv_python()), "-m", "pip", command, *quiet]


def venv_pip(command):
    """A command of pip's in .venv, which says nothing but errors."""
    quiet = ("--disable-pip-version-check", "--quiet")
    return [str(venv_python()), "-m", "pip", command, *quiet]


def index_options():
    """uv's options for where this machine's pip looks: uv doesn't read its settings."""
    options = []
    for line in said_by([venv_python(), "-m", "pip", "config", "list"]).splitlines():
        name, _, value = line.partition("=")
        name, value = name.rpartition(".")[2], value.strip("'")
        if name in ("index-url", "extra-index-url", "find-links"):
            for each in value.split():
                options += [f"--{name}", each]
        elif name == "no-index" and value in ("1", "true", "yes"):
            options.append("--no-index")
    return options


def lab(args):
    """Set up, then `minikafka lab`, which gets the arguments."""
    with alone():
        setup([])
        process = start_lab(args)
    for line in process.stdout:
        say(line.rstrip())
    return process.wait()


def start_lab(args):
    """JupyterLab, until Ctrl-C; returns when it is ready, and has its port."""
    command = [str(venv_python()), "-m", "minikafka", "lab", *args]
    say("Starting JupyterLab (on a slow machine up to a minute) ...")
    # Ctrl-C is JupyterLab's to handle; we wait until it has stopped its kernels.
    signal.signal(signal.SIGINT, lambda *_: None)
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    for line in process.stdout:
        say(line.rstrip())
        if line.startswith("Ready: "):
            return process
    raise Stop("JupyterLab did not start; its messages are above.")


# --- kafka ----------------------------------------------------------------------------


def kafka(args):
    """The brokers of docker/compose.yaml on the JVM, until Ctrl-C."""
    install(["lab"], SIZES["lab"])
    if not args:
        for note in fetch_kafka():
            raise Stop(note)
    # Ctrl-C is the cluster's to handle; we wait until it has stopped.
    signal.signal(signal.SIGINT, lambda *_: None)
    process = subprocess.Popen(
        [str(venv_python()), "-m", "minikafka.course.clusters.jvm_cluster", *args],
        cwd=ROOT,
    )
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    return process.wait()


# --- test, bench, soak, notebooks -----------------------------------------------------


def ready_for_tests():
    """All that tests need, as far as this machine lets us install it; returns what is
    missing, in plain words.
    """
    install(["lab", "spark", "test"], SIZES["test"])
    missing = [name for name in DEBIAN_PACKAGES if not has_command(name)]
    packages = [
        DEBIAN_PACKAGES[name]
        for name in missing
        if name not in SERVICES or not Path("/run/systemd/system").exists()
    ]
    if packages and may_install(packages):
        say(f"Installing Debian packages: {' '.join(packages)} ...")
        quiet = {"stdout": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(
            ["apt-get", "update", "-q"], check=False, env=environment, **quiet
        )
        apt = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages]
        subprocess.run(apt, check=False, env=environment, **quiet)
        missing = [name for name in missing if not has_command(name)]
    hint = "no {} (Debian: sudo apt install {}): tests that need it are skipped"
    notes = [hint.format(name, DEBIAN_PACKAGES[name]) for name in missing]
    if "java" not in missing:
        notes += fetch_kafka() + fetch_connector()
        # the JVMs of the tests then begin in half the time; where it can't be made, they
        # don't
        subprocess.run(
            [str(venv_python()), "-m", "tests.class_archive"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
        )
    return notes


def may_install(packages):
    """Whether apt-get can install them here, and somebody wants it: CI does, and anybody
    else is asked.
    """
    is_debian = os.name == "posix" and Path("/etc/debian_version").exists()
    if not is_debian or os.geteuid() != 0:
        return False
    if os.environ.get("CI"):
        return True
    if not sys.stdin.isatty():
        return False
    names = " ".join(packages)
    return input(f"Some tests need {names}. Install by apt-get? [y/N] ") in ("y", "Y")


def has_command(name):
    """On the PATH, or where Debian has servers: few users have that on theirs."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    return shutil.which(name, path=path) is not None


def fetch_kafka(version=KAFKA_VERSION):
    """Apache Kafka's jars, by Maven, with a repository of its own: poms without jars in
    ~/.m2 break Spark's.
    """
    jars = CACHE / f"kafka-{version}"
    if (
        os.environ.get("MINIKAFKA_KAFKA_JARS")
        or (jars / f"kafka-tools-{version}.jar").exists()
    ):
        return []
    if shutil.which("mvn") is None:
        return ["no jars of Apache Kafka: Maven fetches them"]
    say(f"Fetching Apache Kafka {version} (56 MB) ...")
    partial = jars.with_suffix(".partial")
    command = [
        "mvn",
        "-q",
        "-B",
        "-f",
        "tests/pom.xml",
        f"-Dkafka.version={version}",
        f"-Dmaven.repo.local={CACHE / 'maven'}",
    ]
    command += ["dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        shell=WINDOWS,
    )
    if done.returncode:
        return [f"Maven could not fetch Apache Kafka: {done.stdout.strip()[-300:]}"]
    shutil.rmtree(jars, ignore_errors=True)
    partial.rename(jars)
    shutil.rmtree(CACHE / "maven", ignore_errors=True)
    return []


def fetch_connector():
    """Spark's Kafka connector, and Delta for an extra, by one start of Spark: two test
    workers that do it at once get in each other's way.
    """
    quiet = {
        "cwd": ROOT,
        "stdin": subprocess.DEVNULL,
        "capture_output": True,
        "text": True,
    }
    code = "from minikafka.course import spark; print(spark.packages(delta=True))"
    done = subprocess.run([str(venv_python()), "-c", code], **quiet)
    packages, stamp = done.stdout.strip(), CACHE / "connector"
    home = os.environ.get("JAVA_TOOL_OPTIONS", "") + str(Path.home())
    if stamp.exists() and stamp.read_text() == f"{packages} {home}":
        return []
    say("Fetching Spark's Kafka connector and Delta (24 MB) ...")
    code = "from minikafka.course import spark; spark.session(delta=True).stop()"
    done = subprocess.run([str(venv_python()), "-c", code], **quiet)
    if done.returncode:
        return [f"Spark does not start: {done.stderr.strip()[-600:]}"]
    stamp.write_text(f"{packages} {home}")
    return []


def test(args):
    """ruff, import-linter, mypy, then pytest without what runs at night. With arguments:
    pytest alone, with those.
    """
    return checked(["-m", GATE], args)


def nightly(args):
    """The same with every test, and build/matrix.md."""
    os.environ.setdefault("MINIKAFKA_BUILD_IMAGE", "1")
    for note in fetch_kafka(PREVIOUS_KAFKA):
        say(f"Note: {note}")
    return checked(["-p", "tests.conformance.matrix"], args)


def checked(chosen, args):
    """Exit code of the checks and of the tests that are chosen, or of pytest with args."""
    began = time.monotonic()
    notes = ready_for_tests()
    for note in notes:
        say(f"Note: {note}")
    if notes and os.environ.get("CI"):
        raise Stop("CI needs everything installed.")
    say(f"All is installed after {time.monotonic() - began:.0f} s")
    python = str(venv_python())
    if args:
        return subprocess.run([python, "-m", "pytest", *args], cwd=ROOT).returncode
    failed = []
    for name, command in {
        "ruff": ["-m", "ruff", "check"],
        "ruff format": ["-m", "ruff", "format", "--check"],
        "import-linter": [
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
        ],
        "mypy": ["-m", "mypy"],
        # native: for others pytest parses the source, and CPython 3.11 may refuse that
        # to a process that ran greenlets
        "pytest": ["-m", "pytest", *WORKERS, *chosen, "--tb=native"],
    }.items():
        say(f"--- {name}")
        # pytest comes last: what it prints at its end is what a reader looks for
        if subprocess.run(
            [python, *command], cwd=ROOT, stdin=subprocess.DEVNULL
        ).returncode:
            failed.append(name)
    say(f"{(time.monotonic() - began) / 60:.1f} minutes in all")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def quick(args):
    """pytest without what is slow."""
    install(["lab", "spark", "test"], SIZES["test"])
    command = ["-m", "pytest", "-q", *QUICK_WORKERS, "-m", EVERY_DAY, *args]
    return subprocess.run([str(venv_python()), *command], cwd=ROOT).returncode


def measure(args):
    """Sizes, for whoever decides."""
    install(["lab", "spark", "test"], SIZES["test"])
    command = [str(venv_python()), "-m", "tests.measure", *args]
    return subprocess.run(command, cwd=ROOT).returncode


def bench(args):
    """minikafka and a one-node Apache Kafka, the same clients, in one run."""
    for note in ready_for_tests():
        say(f"Note: {note}")
    return subprocess.run(
        [str(venv_python()), "-m", "tests.bench", *args], cwd=ROOT
    ).returncode


def soak(args):
    """What a node must stand, as long as one likes: --minutes, --seed."""
    install(["lab", "spark", "test"], SIZES["test"])
    return subprocess.run(
        [str(venv_python()), "-m", "tests.soak", *args], cwd=ROOT
    ).returncode


def notebooks(args):
    """Runs lessons and re-writes their stored outputs, text only."""
    install(["lab", "spark", "test"], SIZES["test"])
    return subprocess.run(
        [str(venv_python()), "-m", "tests.notebooks.rewrite", *args], cwd=ROOT
    ).returncode


def site(args):
    """The course as one folder of static files."""
    if args and (len(args) != 2 or args[0] != "--out"):
        raise Stop("This is how it goes: tasks.py site, or tasks.py site --out DIR")
    install(["lab", "site"], SIZES["lab"])
    folder = Path(args[1]).resolve() if args else ROOT / "build" / "site"
    command = [
        str(venv_python()),
        "-m",
        "minikafka.course.publishing.site",
        str(folder),
    ]
    return subprocess.run(command, cwd=ROOT).returncode


def clean(args):
    """Removes .venv, .cache and the tools' own folders."""
    tools = (
        ".hypothesis",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".import_linter_cache",
        "build",
    )
    for name in (".venv", ".cache", *tools):
        shutil.rmtree(ROOT / name, ignore_errors=True)
    for folder in (*ROOT.glob("*.egg-info"), *ROOT.rglob("__pycache__")):
        shutil.rmtree(folder, ignore_errors=True)
    return 0


TASKS = {
    "lab": lab,
    "setup": setup,
    "wheels": wheels,
    "kafka": kafka,
    "test": test,
    "nightly": nightly,
    "quick": quick,
    "measure": measure,
    "bench": bench,
    "soak": soak,
    "site": site,
    "notebooks": notebooks,
    "clean": clean,
}


def main(argv):
    if not argv or argv[0] not in TASKS:
        print(__doc__)
        return 0 if argv in (["help"], ["--help"], ["-h"]) else 2
    try:
        return TASKS[argv[0]](argv[1:])
    except Stop as stop:
        print(f"\n{stop}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
