#!/usr/bin/env python3
"""Starts servers, lets each answer a few requests and then idle, and asks anrscope in four ways whether something hangs.

idle_servers.py OUT [NAME...]

The ways are those of exam.py: the recording of a run under `anrscope jvm`, and of a plain run a dump by jstack, one by kill -3, and `anrscope
attach`. A server is idle for 12 s before the dumps, and for 15 s in the recording. OUT receives what each way printed.
"""
import concurrent.futures, os, re, signal, subprocess, sys, time, urllib.request

import exam

HERE = os.path.dirname(os.path.abspath(__file__))
IDLE, RECORDED, REQUESTS = 12.0, 15.0, 5


def jars(*names):
    return ":".join(f"/usr/share/java/{name}.jar" for name in names)


SERVERS = {
    "IdleTomcat": jars("tomcat10-embed-core", "tomcat10-embed-el", "jakarta-annotation-api"),
    "IdleJetty": jars("jetty9-server", "jetty9-util", "jetty9-http", "jetty9-io", "servlet-api"),
    "IdleNetty": jars(*("netty-" + part for part in ("common", "buffer", "resolver", "transport", "handler", "codec", "codec-http"))),
    "IdleJdk": "",
}


class Server:
    """A server that has answered its requests."""

    def __init__(self, command, log):
        self.log = log
        with open(log, "w") as file:
            self.process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        port = self.port()
        for _ in range(REQUESTS):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as page:
                assert page.read() == b"page"

    def port(self):
        end = time.monotonic() + exam.PATIENCE
        while time.monotonic() < end:
            found = re.search(r"^port (\d+)$", self.printed(), re.M)
            if found:
                return int(found.group(1))
            time.sleep(0.1)
        raise RuntimeError(f"the server does not start: {self.printed()[-500:]}")

    def printed(self):
        with open(self.log) as file:
            return file.read()

    def end(self, pid):
        os.kill(pid, signal.SIGTERM)
        self.process.wait(60)


def asked(out, name):
    """The answers about a server, by the ways of exam.py."""
    out = f"{out}/{name}"
    os.makedirs(out, exist_ok=True)
    path = f"{os.path.dirname(out)}/classes:{SERVERS[name]}"
    java = ["java", "-cp", path, name, out]
    server = Server([exam.PROGRAM, "jvm", "-o", out + "/run.pftrace", *java], out + "/run.txt")
    time.sleep(RECORDED)
    server.end(exam.jvm_below(server.process.pid))
    answers = {"recording": exam.asked_of_file(out, "report", "report", out + "/run.anrscope")}

    server = Server(java, out + "/plain.txt")
    pid = server.process.pid
    time.sleep(IDLE)
    with open(out + "/jstack.txt", "w") as file:
        subprocess.run(["jstack", "-l", str(pid)], stdout=file, stderr=subprocess.STDOUT, timeout=30)
    before = len(server.printed())
    os.kill(pid, signal.SIGQUIT)
    time.sleep(0.5)
    with open(out + "/kill-3.txt", "w") as file:
        file.write(server.printed()[before:])
    for way in ("kill-3", "jstack"):
        answers[way] = exam.asked_of_file(out, way, "dump", f"{out}/{way}.txt")
    done = exam.anrscope("attach", str(pid), "--for", "2s", "-o", out + "/attach.pftrace")
    with open(out + "/attach.txt", "w") as file:
        file.write(done.stdout + done.stderr)
    answers["attach"] = exam.attached(done.stderr) if done.returncode == 0 else {"error": done.stderr[-300:]}
    answers["attach's report"] = exam.asked_of_file(out, "attach-report", "report", out + "/attach.anrscope")
    server.end(pid)
    return name, answers


def fails(way, answer):
    """True if a page says that something hangs, or says nothing."""
    return "error" in answer or exam.says_hang(answer, way in ("recording", "attach's report"))


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if len(sys.argv) > 1 else 2
    out, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(SERVERS)
    path = ":".join(filter(None, SERVERS.values()))
    os.makedirs(out + "/classes", exist_ok=True)
    sources = [f"{HERE}/src/idle/{name}.java" for name in SERVERS]
    subprocess.run(["javac", "-nowarn", "-Xlint:-options", "-cp", path, "-d", out + "/classes", *sources], check=True)
    hung = asked_about = 0
    with concurrent.futures.ThreadPoolExecutor(exam.AT_ONCE) as pool:
        for name, answers in pool.map(lambda name: asked(out, name), names):
            for way, answer in answers.items():
                says = fails(way, answer)
                asked_about += 1
                hung += says
                print(f"{name} {way}: {'HANG' if says else 'no hang'} {answer}", flush=True)
    print(f"idle servers: {hung} of {asked_about} pages about {len(names)} servers say that something hangs")
    return 1 if hung else 0


if __name__ == "__main__":
    sys.exit(main())
