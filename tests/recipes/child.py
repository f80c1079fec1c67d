"""A recipe in a process of its own, with other constants than at work, that sends
itself a signal when it comes to a line of its file.

python -m tests.recipes.child FILE PLAN ARGUMENTS: the plan is JSON with `constants` of
the file, `journal` (a file that hears of each attempt or answer), `line` and `signal`.
"""

import importlib.util
import json
import logging
import os
import signal
import sys
import threading
from functools import wraps


def load(path):
    spec = importlib.util.spec_from_file_location("recipe", path)
    recipe = sys.modules["recipe"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    return recipe


def change(recipe, constants):
    for name, value in constants.items():
        now = getattr(recipe, name)
        if isinstance(now, dict):
            now.update(value)
        else:
            setattr(recipe, name, value)


def strike_at(path, line, number):
    """Sends this process the signal, the first time that any thread comes there."""
    struck = []

    def of_frame(frame, event, _):
        if frame.f_code.co_filename != path:
            return None
        if event == "line" and frame.f_lineno == line and not struck:
            struck.append(line)
            # to this thread: one sent to the process lets it run on for a moment
            signal.pthread_kill(threading.get_ident(), number)
        return of_frame

    threading.settrace(of_frame)
    sys.settrace(of_frame)


def journal(path):
    """Tells the file a line, which is there even if the next step is kill -9."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    return lambda *words: os.write(file, (" ".join(words) + "\n").encode())


def hear_payments(recipe, tell):
    pay_once = recipe.pay_once

    @wraps(pay_once)
    def heard(database, order):
        tell(order.number)
        pay_once(database, order)

    recipe.pay_once = heard


def hear_answers(recipe, tell):
    on_answer = recipe.OrderProducer.on_answer

    @wraps(on_answer)
    def heard(self, about, answer):
        # kafka-python's recipe names the message, confluent-kafka's the order
        order = self.waiting.get(about) if isinstance(about, str) else about
        on_answer(self, about, answer)
        if order:
            failed = isinstance(answer, Exception) or hasattr(answer, "code")
            tell("failed" if failed else "acknowledged", order.number)

    recipe.OrderProducer.on_answer = heard


def main(path, plan, *arguments):
    plan = json.loads(plan)
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    logging.getLogger("kafka").setLevel(logging.WARNING)
    recipe = load(path)
    change(recipe, plan["constants"])
    tell = journal(plan["journal"])
    if hasattr(recipe, "OrderProducer"):
        hear_answers(recipe, tell)
    elif hasattr(recipe, "pay_once"):
        hear_payments(recipe, tell)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, recipe.stop)
    if plan["line"]:
        strike_at(path, plan["line"], signal.Signals[plan["signal"]])
    if hasattr(recipe, "main"):
        return recipe.main(*arguments)
    return recipe.Billing(*arguments).run()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
