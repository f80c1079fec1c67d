"""What a broker's metrics say, read as Prometheus reads them."""

import re
import urllib.request

from prometheus_client.parser import text_string_to_metric_families


class Scrape:
    """One answer: a value by name and labels."""

    def __init__(self, text):
        self.families = list(text_string_to_metric_families(text))
        said = set(re.findall(r"^\w+", text, re.MULTILINE))
        self.samples = []
        for family in self.families:
            for each in family.samples:
                # the parser calls a counter of any other name so, as OpenMetrics does
                if each.name not in said:
                    each = each._replace(name=each.name.removesuffix("_total"))
                self.samples.append(each)

    @staticmethod
    def of(url):
        with urllib.request.urlopen(url, timeout=60) as answer:
            return Scrape(answer.read().decode())

    def having(self, name, labels):
        """The samples of this name that have these labels, whatever else they have."""
        return [
            each
            for each in self.samples
            if each.name == name and labels.items() <= each.labels.items()
        ]

    def value(self, name, **labels):
        """The one sample with just these labels; None if there is none."""
        found = [each for each in self.having(name, labels) if each.labels == labels]
        assert len(found) <= 1, found
        return found[0].value if found else None

    def total(self, name, **labels):
        """The sum over all other labels."""
        return sum(each.value for each in self.having(name, labels))
