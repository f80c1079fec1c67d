"""Lesson 21: a stream joined with a table, by a task that is killed and moved."""

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right
CITIES, SEEN, READ = {}, set(), []


def restored(task):
    cities = {}
    for record in task.changelog():
        if record.value is None:
            cities.pop(record.key, None)
        else:
            cities[record.key] = record.value
    return cities


@right(1)
def commits_once_at_the_end(task):
    cities = restored(task)
    for record in task:
        if record.topic == "orders":
            if record.key in cities:
                task.send("joined", record.key, (record.value, cities[record.key]))
            continue
        task.send("changelog", record.key, record.value)
        if record.value is None:
            cities.pop(record.key, None)
        else:
            cities[record.key] = record.value
    task.commit()


@right(1)
def collects_what_it_sends(task):
    cities, out = restored(task), []
    for record in list(task):
        if record.topic == "customers":
            cities[record.key] = record.value
            out.append(("changelog", record.key, record.value))
        elif cities.get(record.key) is not None:
            out.append(("joined", record.key, (record.value, cities[record.key])))
    for each in out:
        task.send(*each)
    task.commit()


@right(1)
def writes_the_changelog_first_and_a_list_for_a_pair(task):
    cities = {each.key: each.value for each in task.changelog()}
    for record in task:
        if record.topic == "customers":
            task.send("changelog", record.key, record.value)
            cities[record.key] = record.value
        else:
            city = cities.get(record.key)
            if city is not None:
                task.send("joined", record.key, [record.value, city])
        task.commit()


@right(1)
def writes_only_what_changes(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers" and cities.get(record.key) != record.value:
            task.send("changelog", record.key, record.value)
            cities[record.key] = record.value
        if record.topic == "orders" and cities.get(record.key) is not None:
            task.send("joined", record.key, (record.value, cities[record.key]))
        task.commit()


class Table:
    def __init__(self, task):
        self.task, self.rows = task, restored(task)

    def put(self, key, value):
        self.task.send("changelog", key, value)
        self.rows[key] = value


@right(1)
def has_a_class_for_the_table(task):
    table = Table(task)
    while True:
        record = next(task, None)
        if record is None:
            break
        if record.topic == "customers":
            table.put(record.key, record.value)
        elif table.rows.get(record.key) is not None:
            joined = (record.value, table.rows[record.key])
            task.send("joined", record.key, joined)
        task.commit()


@right(1)
def a_global_table_that_is_made_anew(task):
    CITIES.clear()
    CITIES.update(restored(task))
    for number, record in enumerate(task, 1):
        if record.topic == "customers":
            CITIES[record.key] = record.value
            task.send("changelog", record.key, record.value)
        elif CITIES.get(record.key) is not None:
            task.send("joined", record.key, (record.value, CITIES[record.key]))
        if number % 2 == 0:
            task.commit()
    task.commit()


def step(task, record, cities):
    if record.topic == "customers":
        cities[record.key] = record.value
        task.send("changelog", record.key, record.value)
    elif cities.get(record.key) is not None:
        task.send("joined", record.key, (record.value, cities[record.key]))


@wrong(1, "lost", "something else")
def has_no_changelog(task):
    cities = {}
    for record in task:
        if record.topic == "customers":
            cities[record.key] = record.value
        elif cities.get(record.key) is not None:
            task.send("joined", record.key, (record.value, cities[record.key]))
        task.commit()


@wrong(1, "lost", "something else")
def writes_the_changelog_and_never_reads_it(task):
    cities = {}
    for record in task:
        step(task, record, cities)
        task.commit()


@wrong(1, "lost", "something else")
def reads_the_changelog_and_never_writes_it(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers":
            cities[record.key] = record.value
        elif cities.get(record.key) is not None:
            task.send("joined", record.key, (record.value, cities[record.key]))
        task.commit()


@wrong(1, "lost", "was gone when it came", "something else")
def a_global_table_that_is_restored_once(task):
    if not READ:
        READ.append(True)
        CITIES.update(restored(task))
    for record in task:
        step(task, record, CITIES)
        task.commit()


@wrong(1, "was gone when it came", "something else")
def a_global_table_to_which_the_changelog_is_added(task):
    CITIES.update(restored(task))
    for record in task:
        step(task, record, CITIES)
        task.commit()


@wrong(1, "lost", "something else")
def writes_the_changelog_behind_the_commit(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers":
            cities[record.key] = record.value
            task.commit()
            task.send("changelog", record.key, record.value)
        else:
            step(task, record, cities)
            task.commit()
    task.commit()


@wrong(1, "lost")
def commits_before_the_work(task):
    cities = restored(task)
    for record in task:
        task.commit()
        step(task, record, cities)
    task.commit()


@wrong(1, "lost", "something else")
def commits_between_the_two(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers":
            task.commit()
        step(task, record, cities)
        if record.topic == "orders":
            task.commit()


@wrong(1, "a lag of", "lost")
def never_commits(task):
    cities = restored(task)
    for record in task:
        step(task, record, cities)


@wrong(1, "a lag of")
def commits_only_behind_what_it_sends(task):
    cities = restored(task)
    for record in task:
        step(task, record, cities)
        if record.topic == "customers" or cities.get(record.key) is not None:
            task.commit()


@wrong(1, "was gone when it came", "something else")
def a_customer_who_is_gone_stays_in_the_table(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers" and record.value is None:
            task.send("changelog", record.key, None)
        else:
            step(task, record, cities)
        task.commit()


@wrong(1, "was gone when it came", "something else")
def restores_only_cities(task):
    cities = {}
    for each in task.changelog():
        if each.value is not None:
            cities[each.key] = each.value
    for record in task:
        step(task, record, cities)
        task.commit()


@wrong(1, "lost")
def an_empty_name_is_no_city(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers" or cities.get(record.key):
            step(task, record, cities)
        task.commit()


@wrong(1, "an order is joined, though its customer had no city yet when it came")
def sends_orders_without_a_city_too(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers":
            step(task, record, cities)
        else:
            task.send("joined", record.key, (record.value, cities.get(record.key)))
        task.commit()


@wrong(1, "KeyError")
def takes_a_customer_out_who_is_not_there(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers" and record.value is None:
            del cities[record.key]
            task.send("changelog", record.key, None)
        else:
            step(task, record, cities)
        task.commit()


@wrong(1, "something else", "was gone when it came", "lost")
def reads_the_first_of_a_key(task):
    cities = {}
    for each in task.changelog():
        cities.setdefault(each.key, each.value)
    for record in task:
        step(task, record, cities)
        task.commit()


@wrong(1, "though its customer had no city yet when it came")
def a_new_city_sends_old_orders_again(task):
    cities, orders = restored(task), []
    for record in task:
        step(task, record, cities)
        if record.topic == "orders":
            orders.append(record)
        elif record.value is not None:
            for old in orders:
                if old.key == record.key:
                    task.send("joined", old.key, (old.value, record.value))
        task.commit()


@wrong(1, "lost")
def an_order_like_the_last_one_is_a_repeat(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers":
            step(task, record, cities)
        elif (record.key, record.value) not in SEEN:
            SEEN.add((record.key, record.value))
            step(task, record, cities)
        task.commit()


@wrong(1, "the changelog has")
def writes_the_whole_table_each_time(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers":
            cities[record.key] = record.value
        elif cities.get(record.key) is not None:
            task.send("joined", record.key, (record.value, cities[record.key]))
        for key, city in cities.items():
            task.send("changelog", key, city)
        task.commit()


@wrong(1, "once in a life")
def asks_the_changelog_for_each_order(task):
    for record in task:
        cities = restored(task)
        step(task, record, cities)
        task.commit()


@wrong(1, "something else")
def city_and_cents_swapped(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers":
            step(task, record, cities)
        elif cities.get(record.key) is not None:
            task.send("joined", record.key, (cities[record.key], record.value))
        task.commit()


@wrong(1, "lost")
def keys_in_small_letters(task):
    cities = {each.key.lower(): each.value for each in task.changelog()}
    for record in task:
        if record.topic == "customers":
            task.send("changelog", record.key, record.value)
            if record.key == record.key.lower():
                cities[record.key] = record.value
        elif cities.get(record.key) is not None:
            task.send("joined", record.key, (record.value, cities[record.key]))
        task.commit()


@wrong(1, "lost")
def leaves_out_orders_of_no_cents(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers" or record.value:
            step(task, record, cities)
        task.commit()


@wrong(1, 'send to "joined" or "changelog"')
def sends_to_another_topic(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers":
            task.send("customers-changelog", record.key, record.value)
        step(task, record, cities)
        task.commit()


@wrong(1, "an order is joined, though its customer was gone when it came: record 0")
def forgets_that_somebody_is_gone(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers" and record.value is None:
            task.send("changelog", record.key, None)
        else:
            step(task, record, cities)
        task.commit()


@wrong(1, "an order is joined, though its customer was gone when it came: record 0")
def joins_with_none(task):
    cities = restored(task)
    for record in task:
        if record.topic == "customers":
            cities[record.key] = record.value
            task.send("changelog", record.key, record.value)
        elif record.key in cities:
            task.send("joined", record.key, (record.value, cities[record.key]))
        task.commit()


@wrong(1, "an order is joined twice: record 1 of joined is alice (20, 'Arles')")
def sends_each_twice(task):
    cities = restored(task)
    for record in task:
        step(task, record, cities)
        if record.topic == "orders":
            step(task, record, cities)
        task.commit()
