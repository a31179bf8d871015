# SPDX-License-Identifier: GPL-2.0
"""
The Debian packages on a Debian 12 and a Debian 13, each a bare system of its own: apt installs them
there, which fetches what they need and has dkms build the module; the system boots and uses them;
they are upgraded and removed; then "make install". What apt does happens in the system's root
directory on this machine, entered by unshare and chroot without the right to load a module; what
needs the kernel, in a virtual machine that boots from it (selftests/packages/host.sh).
"""
import glob
import os
import re
import shutil
import subprocess
import time

from lanes import only_run
from machines import SCRIPTS, choose
from needs import TOP
from tiers import script

SYSTEMS = ("deb12", "deb13")
# of the system's programs, with what is put in place of uname
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INSIDE = """
set -e
root=$0 apt=$1
shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$apt" "$root/var/cache/apt/archives"
chroot "$root" setpriv --bounding-set=-sys_module,-sys_boot,-sys_rawio,-net_admin -- env -i "$@"
exit $?
"""
UNAME = """#!/bin/sh
[ "$*" = -r ] && echo {release} || exec /usr/bin/uname "$@"
"""


class Bad(Exception):
    """Why a step has failed."""


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def files(root):
    """What is installed; depmod writes its lists anew."""
    found = set()
    for top in "etc", "usr", "lib/modules":
        for folder, _, names in os.walk(f"{root}/{top}"):
            paths = (f"{folder}/{name}" for name in names if not name.startswith("modules."))
            found.update(path for path in paths if not os.path.islink(path))
    return found


class System:
    """One of them."""
    def __init__(self, tier, name, version):
        build = tier.build
        self.tier, self.lane, self.name, self.version = tier, tier.run.main, name, version
        self.work, self.apt = f"{build}/packages-{name}", f"{build}/debs-{name}"
        self.root, self.log = f"{self.work}/root", f"{tier.log}/packages-{name}"
        os.makedirs(self.log, exist_ok=True)
        self.lock = only_run(self.log)
        self.release = ""
        self.before, self.times = set(), ""

    ### the system's root, whose kernel seems to run

    def fresh_root(self):
        """A copy of the bare system to work on."""
        bare = f"{self.tier.build}/system-{self.name}"
        self.lane.need(script("mksystem.sh", self.name))
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        os.makedirs(f"{self.apt}/partial", exist_ok=True)
        self.release = text_of(f"{bare}/release").strip()
        for name in "kernel", "boot.cpio":
            shutil.copy(f"{bare}/{name}", self.work)
        self.lane.need(["cp", "-a", "--reflink=auto", f"{bare}/root", self.root])
        os.makedirs(f"{self.root}/packages", exist_ok=True)
        shutil.copy("/etc/resolv.conf", f"{self.root}/etc/resolv.conf")
        self.fresh_uname()

    def fresh_uname(self):
        """In a chroot the machine's kernel runs."""
        path = f"{self.root}/usr/local/bin/uname"
        with open(path, "w", encoding="ascii") as file:
            file.write(UNAME.format(release=self.release))
        os.chmod(path, 0o755)

    def inside(self, log, *argv):
        """Does it succeed, and what does it say?"""
        path = f"{self.log}/{log}.log"
        with open(path, "w", encoding="utf-8") as out:
            status = self.lane.call([
                "unshare", "-m", "-p", "-u", "-f", "--kill-child", "bash", "-c", INSIDE, self.root,
                self.apt, f"PATH={PATH}", "HOME=/root", "LC_ALL=C",
                "DEBIAN_FRONTEND=noninteractive", *argv], out=out)
        return not status, text_of(path).splitlines()

    def must(self, log, *argv):
        good, said = self.inside(log, *argv)
        if not good:
            raise Bad("\n".join(said[-30:]))

    def apt_get(self, log, *words):
        """What it installs comes with all that it would take by itself, so with what is
        recommended. Once more with fresh lists: these may name what the mirror has no more."""
        command = "apt-get", "-o", f"DPkg::Path={PATH}", *words
        if not self.inside(log, *command)[0]:
            self.must("apt-update", "apt-get", "update")
            self.must(log, *command)

    def make(self, *words):
        """In the source, with the compiler that is there by now."""
        self.must("make", "make", "-s", "-C", "/kvnet-source", *words)

    def must_be_built(self, log):
        if not self.built():
            raise Bad("no kvnet.ko:\n" + text_of(f"{self.log}/{log}.log"))

    def built(self):
        return glob.glob(f"{self.root}/lib/modules/{self.release}/updates/dkms/kvnet.ko*")

    def install_kvnet(self, log, folder, version, *more):
        for path in glob.glob(f"{self.tier.build}/{folder}/kvnet-*_{version}_*.deb"):
            shutil.copy(path, f"{self.root}/packages")
        self.apt_get(log, "install", "-y", f"/packages/kvnet-dkms_{version}_all.deb",
                     f"/packages/kvnet-tools_{version}_amd64.deb", *more)
        self.must_be_built(log)

    ### steps

    def install(self):
        self.install_kvnet("apt-install", "deb", self.version, f"linux-headers-{self.release}")

    def install_others(self, *packages):
        self.apt_get("apt", "install", "-y", "--no-install-recommends", *packages)

    def upgrade(self):
        # as the administrator has it
        sample = f"{self.root}/etc/modprobe.d/kvnet.conf"
        text = re.sub("^#(options kvnet poll_us=).*", r"\g<1>7", text_of(sample), flags=re.M)
        with open(sample, "w", encoding="utf-8") as file:
            file.write(text)
        self.install_kvnet("apt-upgrade", "deb-next", f"{self.version}+next")

    def purge(self):
        """What dpkg removes without a kernel, such as in a container."""
        self.apt_get("apt", "purge", "-y", "kvnet-dkms", "kvnet-tools")
        if self.built():
            raise Bad("the module is still there")

    def make_install(self):
        tree = subprocess.check_output(script("deb.sh", "--source-tree"), text=True).strip()
        self.lane.need(["cp", "-a", tree, f"{self.root}/kvnet-source"])
        # what kvnetctl is built with is a package of the system's, which stays
        self.make("tools")
        self.before = files(self.root)
        self.make("install")
        for path in f"lib/modules/{self.release}/updates/kvnet.ko", "usr/local/bin/qemu-kvnet":
            if not os.path.exists(f"{self.root}/{path}"):
                raise Bad(f"no {path}")

    def make_refuses(self):
        """With one line that has these words."""
        user = "setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--"
        make = "make", "-s", "-C", "/kvnet-source"
        for words, argv in (
                ("may not write to /usr/local", [*user, *make, "install-tools"]),
                ("may not write to /etc", [*user, *make, "install-host", "PREFIX=/tmp/x"]),
                ("no kernel headers in /nowhere", [*make, "install", "KDIR=/nowhere"])):
            good, said = self.inside("refuses", *argv)
            said = [line for line in said if not line.startswith("make: *** ")]
            if good or len(said) != 1 or words not in said[0]:
                raise Bad(f"{'it succeeded' if good else 'said'}: {said}")

    def make_uninstall(self):
        self.make("uninstall")
        self.nothing_left()

    def make_dkms(self):
        """As where there are no packages."""
        self.make("dkms-install")
        self.must_be_built("make")
        self.make("dkms-remove")
        self.nothing_left()

    def nothing_left(self):
        changed = sorted(files(self.root) ^ self.before)
        if changed:
            raise Bad("left, or gone:\n" + "\n".join(changed))

    ### the virtual machine

    def boot(self, what, *more):
        """What host.sh says there of "what"."""
        os.unlink(f"{self.root}/usr/local/bin/uname")
        for path in glob.glob(f"{self.root}/packages/*"):
            os.unlink(path)
        disk = f"{self.work}/disk"
        used = int(subprocess.check_output(["du", "-sm", self.root]).split()[0])
        self.lane.need(["mke2fs", "-q", "-t", "ext4", "-m", "0", "-d", self.root, disk,
                        f"{used * 5 // 4 + 300}M"])
        build = self.tier.build
        text = self.tier.machines.start(self.lane, f"{self.name}-{what}", [
            f"{SCRIPTS}/vm.sh", "--system", self.work, "--timeout", 900,
            "--add", f"{build}/guest-6.1:/kvnet/guest",
            "--add", f"{TOP}/selftests/packages/complete.zsh",
            "--add", f"{build}/net-tools/vhost_features",
            "--", f"{TOP}/selftests/packages/host.sh", what, *more], 0)
        os.unlink(disk)
        self.fresh_uname()
        return text

    def how_long(self, text, kvnet, qemu):
        """From a system that has nothing of kvnet to a guest on it that has answered its pings and
        has ended: seconds of apt, and what the text says of the others."""
        took = dict(re.findall(r"^# took (\w+) ([\d.]+)", text, re.M))
        if not {"boot", "guest"} <= took.keys():
            raise Bad(f"this is known: {took}")
        boot, guest = float(took["boot"]), float(took["guest"])
        self.times = (f"{self.name}: from a bare system to a guest on kvnet by the packages: "
                      f"{kvnet + qemu + boot + guest:.0f} s (apt install kvnet {kvnet:.0f}, "
                      f"QEMU {qemu:.0f}, boot {boot:.0f}, guest {guest:.0f})")

    def step(self, name, command, *words):
        """Seconds that it took."""
        def goes_well(lane):
            try:
                command(*words)
            except Bad as bad:
                lane.print("# " + "\n# ".join(str(bad).splitlines()))
                return False
            return True

        start = time.monotonic()
        self.lane.step(f"{self.name}: {name}", goes_well)
        return time.monotonic() - start

    def try_it(self):
        self.fresh_root()
        kvnet = self.step(f"apt install ./kvnet-*.deb linux-headers-{self.release}", self.install)
        qemu = self.step("its QEMU", self.install_others, "qemu-system-x86", "iputils-ping")
        self.step("zsh and jq, for the tests", self.install_others, "zsh", "jq")
        text = self.boot("installed")
        self.step("how long it took is known", self.how_long, text, kvnet, qemu)
        self.step("upgrade", self.upgrade)
        self.boot("upgraded", f"{self.version}+next")
        self.step("purge where there is no kernel", self.purge)
        self.step("make install", self.make_install)
        self.step("make install refuses with one line", self.make_refuses)
        self.boot("made")
        self.step("make uninstall leaves nothing", self.make_uninstall)
        self.step("make dkms-install, and dkms-remove leaves nothing", self.make_dkms)
        shutil.rmtree(self.work)
        self.lock.close()


class Packages:
    def __init__(self, tier):
        self.tier, self.main = tier, tier.run.main
        self.systems = choose("SYSTEMS", SYSTEMS)

    def build(self, name, folder, version):
        self.main.step(name, script("deb.sh"),
                       {"OUT": f"{self.tier.build}/{folder}", "VERSION": version})

    def lintian(self, lane, version):
        changes = glob.glob(f"{self.tier.build}/deb/kvnet_{version}_*.changes")
        status, path = self.tier.logged(lane, "lintian", [
            "lintian", "--fail-on", "error", "--display-info", "--allow-root", *changes])
        lane.print(re.sub("^(?=.)", "# lintian: ", text_of(path), flags=re.M).rstrip())
        return bool(changes) and not status

    def run_all(self):
        main = self.main
        main.need(script("setup.sh", "--systems"))
        version = subprocess.check_output(script("version.sh"), text=True).strip()
        self.build(f"packages of {version} build", "deb", version)
        main.step("lintian finds no error", lambda lane: self.lintian(lane, version))
        self.build("packages to upgrade to build", "deb-next", f"{version}+next")
        if main.failed or not self.tier.build_uapi(main, ["loop"]):
            return
        main.need(script("setup.sh", "6.1"))
        main.need(script("mkimage.sh", "--guests"))
        systems = [System(self.tier, name, version) for name in self.systems]
        for system in systems:
            system.try_it()
        for line in filter(None, (system.times for system in systems)):
            main.print(line)
