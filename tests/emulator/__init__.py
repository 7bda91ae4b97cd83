"""The vendors' APIs on this machine: wire formats for the real SDKs, caches by the simulator, faults on demand."""

from tests.emulator.faults import Fault
from tests.emulator.server import Received, Vendor, emulator

__all__ = ["Fault", "Received", "Vendor", "emulator"]
