/**
 * A Kafka for tests, which fails when a test tells it to: `minikafka serve` as a child process.
 *
 *     const kafka = await start();
 *     after(() => kafka.close());
 *
 * Copy this file into your tests. The child ends with close(), or with this process, whatever happens to it. The variable
 * MINIKAFKA names the command, where it isn't on the PATH. Node 18 or newer, and nothing else.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** Resolves when clients may come. options: of `minikafka serve`, "--brokers", "3" for example. */
export async function start(...options) {
  const line = ["serve", "--port", "0", "--control", "0", "--ready", "json", "--exit-with-parent"];
  // it ends when this pipe does: that of a process that is gone is closed
  const child = spawn(process.env.MINIKAFKA ?? "minikafka", [...line, ...options], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit"); // rejects where there is no such command
  const ready = await Promise.race([
    once(createInterface({ input: child.stdout }), "line").then(([text]) => JSON.parse(text)),
    exited.then(() => {
      throw new Error("minikafka did not start: see its message on standard error");
    }),
  ]);

  async function ask(method, path, body) {
    const answer = await fetch(ready.control + path, {
      method,
      headers: { Authorization: `Bearer ${ready.token}`, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text);
  }

  return {
    bootstrapServers: ready.bootstrap_servers,

    /**
     * Begins a fault. kind: Lose, Answer, Delay, Throttle, Crash or Freeze. words: topic, nth, times and the others of
     * minikafka.testing.
     */
    async fault(kind, api, words = {}) {
      const { id } = await ask("POST", "/faults", { fault: kind, api, ...words });
      return {
        /** How many requests it has met, while it is there. */
        hits: async () => (await ask("GET", `/faults/${id}`)).hits,
        /** It meets nothing any more. */
        end: () => ask("DELETE", `/faults/${id}`),
      };
    },

    /** Moves the brokers' time on; what is due by then happens before it resolves. */
    advance: (seconds) => ask("POST", "/clock/advance", { seconds }),
    /** kill -9; what the broker has written is there after a restart. */
    kill: (broker) => ask("POST", `/brokers/${broker}/kill`),
    /** On the same port and data. */
    restart: (broker) => ask("POST", `/brokers/${broker}/restart`),
    /** It stands still, with its connections open, until thaw. */
    freeze: (broker) => ask("POST", `/brokers/${broker}/freeze`),
    /** It goes on as if nothing had happened. */
    thaw: (broker) => ask("POST", `/brokers/${broker}/thaw`),
    /** Nothing passes between two brokers until mend. */
    cut: (one, other) => ask("POST", "/cut", { brokers: [one, other] }),
    /** The two hear each other again. */
    mend: (one, other) => ask("POST", "/mend", { brokers: [one, other] }),
    /** What clients have asked of late. */
    heard: async () => (await ask("GET", "/heard")).heard,

    /** Ends the brokers. */
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}
