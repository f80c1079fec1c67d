"""Lesson 17: columns with the broken records kept separate, and a query's lag."""

import ast

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


def read_up_to(progress, topic):
    """Partition -> offset, of all sources that know this topic."""
    found = {}
    for source in progress["sources"]:
        for name, offsets in ast.literal_eval(source["endOffset"]).items():
            if name == topic:
                found |= {
                    int(partition): offset for partition, offset in offsets.items()
                }
    return found


@right(2)
def all_sources(progress, topic, ends):
    found = read_up_to(progress, topic)
    return {partition: end - found.get(partition, 0) for partition, end in ends.items()}


@right(2)
def by_text(progress, topic, ends):
    rest = dict(ends)
    for source in progress["sources"]:
        offsets = eval(source["endOffset"]).get(topic, {})
        for partition in list(rest):
            rest[partition] = rest[partition] - offsets.get(str(partition), 0)
    return rest


def the_first_source(progress):
    return ast.literal_eval(progress["sources"][0]["endOffset"])


@wrong(2, "it says {0: 5}, and {0: 0} is true.")
def partitions_as_text(progress, topic, ends):
    found = the_first_source(progress).get(topic, {})
    return {partition: end - found.get(partition, 0) for partition, end in ends.items()}


@wrong(2, "it says {1: 3, 0: -2}, and {1: 0, 0: 1} is true.")
def by_place(progress, topic, ends):
    """The first of ends less the first of endOffset, and so on."""
    offsets = [*read_up_to(progress, topic).values(), *[0] * len(ends)]
    return {each: ends[each] - offsets[place] for place, each in enumerate(ends)}


@wrong(2, "the numbers are right, and the partitions are text: they should be")
def keys_are_text(progress, topic, ends):
    return {
        str(partition): left
        for partition, left in all_sources(progress, topic, ends).items()
    }


@wrong(2, "it raised KeyError: '1'")
def a_new_partition_is_an_error(progress, topic, ends):
    found = the_first_source(progress)[topic]
    return {partition: end - found[str(partition)] for partition, end in ends.items()}


@wrong(2, "it says {0: 0}, and {0: 0, 1: 7} is true.")
def a_new_partition_is_left_out(progress, topic, ends):
    found = read_up_to(progress, topic)
    return {partition: ends[partition] - offset for partition, offset in found.items()}


@wrong(2, "it says {0: 0, 1: 0}, and {0: 0, 1: 7} is true.")
def a_new_partition_has_no_lag(progress, topic, ends):
    found = read_up_to(progress, topic)
    return {
        partition: end - found.get(partition, end) for partition, end in ends.items()
    }


@wrong(2, "it says {0: 1}, and {0: 0} is true.")
def one_too_many(progress, topic, ends):
    return {p: left + 1 for p, left in all_sources(progress, topic, ends).items()}


@wrong(2, "it says {0: 0}, and {0: 1} is true.")
def the_offset_is_the_last_one_read(progress, topic, ends):
    return {
        p: max(0, left - 1) for p, left in all_sources(progress, topic, ends).items()
    }


@wrong(2, "it returned 0, and should return a dict: partition -> offsets.")
def the_sum(progress, topic, ends):
    return sum(all_sources(progress, topic, ends).values())


@wrong(2, "it says {0: -4}, and {0: 1} is true.")
def all_topics(progress, topic, ends):
    found = {}
    for offsets in the_first_source(progress).values():
        found |= offsets
    return {
        partition: end - found.get(str(partition), 0) for partition, end in ends.items()
    }


@wrong(2, "it says {0: -4}, and {0: 1} is true.")
def the_first_topic(progress, topic, ends):
    found = next(iter(the_first_source(progress).values()))
    return {
        partition: end - found.get(str(partition), 0) for partition, end in ends.items()
    }


@wrong(2, "it says {}, and {0: 0} is true.")
def no_lag_is_left_out(progress, topic, ends):
    return {
        partition: left
        for partition, left in all_sources(progress, topic, ends).items()
        if left
    }


@wrong(2, "it says {0: -1}, and {0: 1} is true.")
def the_other_way_round(progress, topic, ends):
    return {
        partition: -left
        for partition, left in all_sources(progress, topic, ends).items()
    }


@wrong(2, "it says {0: 0}, and {0: 1} is true.")
def what_the_report_says(progress, topic, ends):
    return {partition: 0 for partition in ends}


@wrong(2, "it changed its argument ends, which is the caller's: {0: 5} became {0:")
def changes_ends(progress, topic, ends):
    found = read_up_to(progress, topic)
    for partition in ends:
        ends[partition] -= found.get(partition, 0)
    return ends


# --- parse: these need Spark ---

NEW = (
    "order_id string, customer_id string, amount_cents long, amount struct<cents: long>"
)


def columns(rows, schema=NEW):
    from pyspark.sql import functions as F

    order = F.from_json(F.col("value").cast("string"), schema)
    cents = F.coalesce(order["amount_cents"], order["amount"]["cents"])
    return rows.withColumn("o", order).select(
        *rows.columns,
        order["order_id"].alias("a"),
        order["customer_id"].alias("b"),
        cents.alias("c"),
    )


def picked(parsed):
    from pyspark.sql import functions as F

    return parsed.select(
        F.col("a").alias("order_id"),
        F.col("b").alias("customer_id"),
        F.col("c").alias("cents"),
    )


GOOD = "a is not null and b is not null and c is not null"


@right(1)
def three_columns(rows):
    parsed = columns(rows)
    return picked(parsed.where(GOOD)), parsed.where(f"not ({GOOD})").drop("a", "b", "c")


@right(1)
def get_json(rows):
    from pyspark.sql import functions as F

    text = F.col("value").cast("string")

    def at(path):
        return F.get_json_object(text, path)

    cents = F.coalesce(at("$.amount_cents"), at("$.amount.cents")).try_cast("long")
    orders = rows.select(
        "*",
        at("$.order_id").alias("order_id"),
        at("$.customer_id").alias("customer_id"),
        cents.alias("cents"),
    )
    whole = (
        F.col("order_id").isNotNull()
        & F.col("customer_id").isNotNull()
        & F.col("cents").isNotNull()
    )
    return orders.where(whole).select("order_id", "customer_id", "cents"), orders.where(
        ~whole
    ).select(*rows.columns)


@wrong(1, "the order ('o-2', 'nils', 2450) is not among the orders.")
def the_old_format_only(rows):
    from pyspark.sql import functions as F

    cents = F.get_json_object(F.col("value").cast("string"), "$.amount_cents").cast(
        "long"
    )
    parsed = columns(rows).withColumn("c", cents)
    return picked(parsed.where(GOOD)), parsed.where(f"not ({GOOD})").select(
        *rows.columns
    )


@wrong(1, "the orders have (None, None, None), and no value says that.")
def nothing_is_other(rows):
    parsed = columns(rows)
    return picked(parsed), rows.limit(0)


@wrong(1, "this is no order, and the others don't have it: it is lost.")
def drops_the_poison(rows):
    parsed = columns(rows)
    return picked(parsed.where(GOOD)), rows.limit(0)


@wrong(1, "the orders have ('o-5', None, None), and no value says that.")
def only_unreadable_ones_are_other(rows):
    parsed = columns(rows)
    return picked(parsed.where("a is not null")), parsed.where("a is null").select(
        *rows.columns
    )


@wrong(1, "the orders have ('o-7', None, 5), and no value says that.")
def without_customers(rows):
    parsed = columns(rows)
    good = "a is not null and c is not null"
    return picked(parsed.where(good)), parsed.where(f"not ({good})").select(
        *rows.columns
    )


@wrong(1, "is not among the orders")
def any_null_is_lost(rows):
    """Neither `> -9` nor its opposite is true of a null."""
    parsed = columns(rows)
    good = "a <> '' and b <> '' and c > -9"
    return picked(parsed.where(good)), parsed.where(f"not ({good})").select(
        *rows.columns
    )


@wrong(1, "the value came back as")
def others_as_text(rows):
    parsed = columns(rows)
    others = parsed.where(f"not ({GOOD})").select(*rows.columns)
    return picked(parsed.where(GOOD)), others.withColumn(
        "value", others["value"].cast("string")
    )


@wrong(1, "the others have the columns key, value, and rows came with")
def others_without_offsets(rows):
    parsed = columns(rows)
    return picked(parsed.where(GOOD)), parsed.where(f"not ({GOOD})").select(
        "key", "value"
    )


@wrong(
    1, "the others have the columns key, value, topic, partition, offset, timestamp,"
)
def others_keep_my_columns(rows):
    parsed = columns(rows)
    return picked(parsed.where(GOOD)), parsed.where(f"not ({GOOD})")


@wrong(1, "the orders have the columns key, value, topic, partition, offset")
def the_wrong_way_round(rows):
    return three_columns(rows)[::-1]


@wrong(1, "it returned a DataFrame, and should return two DataFrames")
def one_data_frame(rows):
    return three_columns(rows)[0]


@wrong(1, "and should have order_id, customer_id, cents.")
def other_names(rows):
    orders, others = three_columns(rows)
    return orders.withColumnRenamed("cents", "amount_cents"), others


@wrong(1, "came in 2 rows, and is there in 1.")
def no_doubles(rows):
    orders, others = three_columns(rows)
    return orders.distinct(), others


@wrong(1, "is there as ('o-1', 'hana', 9.9).")
def euros(rows):
    orders, others = three_columns(rows)
    return orders.withColumn("cents", orders["cents"] / 100), others


@wrong(1, "'', -5) is not among the orders.")
def an_empty_name_is_none(rows):
    parsed = columns(rows)
    good = f"{GOOD} and b <> ''"
    return picked(parsed.where(good)), parsed.where(f"not ({good})").drop("a", "b", "c")


@wrong(1, "' hana', ")
def without_blanks(rows):
    from pyspark.sql import functions as F

    orders, others = three_columns(rows)
    return orders.withColumn("customer_id", F.trim("customer_id")), others


@wrong(1, "came in 2 rows, and is there in 1.", "is not among the orders.")
def only_euros(rows):
    from pyspark.sql import functions as F

    text = F.col("value").cast("string")
    currency = F.get_json_object(text, "$.amount.currency")
    is_euro = F.coalesce(currency, F.lit("EUR")) == "EUR"
    parsed = columns(rows).withColumn("euro", is_euro)
    good = f"{GOOD} and euro"
    others = parsed.where(f"not ({good})").select(*rows.columns)
    return picked(parsed.where(good)), others


@wrong(1, "it returned a tuple, and should return two DataFrames")
def collected(rows):
    orders, others = three_columns(rows)
    return orders.collect(), others.collect()


@wrong(2, "it raised KeyError: 'orders'", "it says")
def always_orders(progress, topic, ends):
    return all_sources(progress, "orders", ends)


@wrong(2, "it says {0: -4}, and {0: 1} is true.", "is true.")
def topics_that_begin_so(progress, topic, ends):
    read = {}
    for source in progress["sources"]:
        for name, offsets in ast.literal_eval(source["endOffset"]).items():
            if name.startswith(topic):
                read |= offsets
    return {
        partition: end - read.get(str(partition), 0) for partition, end in ends.items()
    }


@right(2)
def waits_for_the_first_micro_batch(progress, topic, ends):
    if progress["batchId"] < 0:
        return dict(ends)
    return all_sources(progress, topic, ends)


@wrong(2, "is true.")
def partitions_of_one_digit(progress, topic, ends):
    found = read_up_to(progress, topic)
    return {
        partition: end - found.get(partition % 10, 0) for partition, end in ends.items()
    }


@wrong(2, "and {0: 5} is true.")
def from_the_latest_offset(progress, topic, ends):
    """What the topic had when the micro-batch was planned, read or not."""
    read = {}
    for source in progress["sources"]:
        offsets = source.get("latestOffset", source["endOffset"])
        read |= ast.literal_eval(offsets).get(topic, {})
    return {number: end - read.get(str(number), 0) for number, end in ends.items()}
