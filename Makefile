# Thin: everything is in tasks.py, which needs no make (`py tasks.py lab` on Windows).
PYTHON ?= python3

.PHONY: help lab setup wheels kafka test nightly quick measure bench soak site notebooks clean
help lab setup wheels kafka test nightly quick measure bench soak site notebooks clean:
	@$(PYTHON) tasks.py $@ $(ARGS)
