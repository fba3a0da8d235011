"""The processes that execute a step, one GPU each: one alone, or those that torchrun started.

Ranks enter every collective together, or all of them wait for ever. So whatever decides which
collectives run (a time that was measured, the room for a cache, a deadline) is agreed on first, over
torchrun's store, which gives up after a while; and a process that gets nowhere for STALL_S prints
where it stands and ends, upon which torchrun ends the others. Collectives are NCCL's own on the
current stream, as engines call them, without PyTorch's process group: its watchdog asks for events
while graphs are captured, and to destroy it waits for every graph that holds one of its calls.
"""

import ctypes
import datetime
import faulthandler
import json
import os
import sys
import time

import torch

PATIENCE_S = 60  # for another rank to agree
STALL_S = 90  # without a step or a line of progress; the longest step so far took 4 s
UNIQUE_ID_BYTES = 128  # nccl.h
DATA_TYPES = {torch.float32: 7, torch.bfloat16: 9}  # ncclDataType_t
SUM = 0  # ncclRedOp_t


class Ranks:
    """Which of how many processes this is, and what they agree on."""

    def __init__(self):
        self.began = time.monotonic()
        self.count = int(os.environ.get("WORLD_SIZE", 1))
        self.index = int(os.environ.get("RANK", 0))
        self.local = int(os.environ.get("LOCAL_RANK", 0))
        self.agreed = 0
        self.store = None
        self.progress()
        if self.count > 1:
            patience = datetime.timedelta(seconds=PATIENCE_S)
            self.store, _, _ = next(torch.distributed.rendezvous("env://", timeout=patience))
            self.store.set_timeout(patience)

    def progress(self, line=None):
        """Starts the wait for a stall again; a line of progress is printed where ranks are many."""
        faulthandler.dump_traceback_later(STALL_S, exit=True)
        if line is not None and self.count > 1:
            print(f"[rank {self.index} of {self.count}, {time.monotonic() - self.began:.1f} s] "
                  f"{line}", flush=True)

    def gathered(self, value):
        """What every rank says, in their order. All of them must call it."""
        if self.store is None:
            return [value]
        self.agreed += 1
        self.store.set(f"steps/{self.agreed}/{self.index}", json.dumps(value))
        return [json.loads(self.store.get(f"steps/{self.agreed}/{i}")) for i in range(self.count)]

    def most(self, value):
        return max(self.gathered(value))

    def least(self, value):
        return min(self.gathered(value))

    def from_first(self, value):
        """What rank 0 says; others' values are ignored."""
        return self.gathered(value)[0]

    def meet(self):
        self.gathered(0)

    def end(self, status=0):
        """Leaves at once: NCCL's threads and captured graphs have nothing to say any more."""
        faulthandler.cancel_dump_traceback_later()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * UNIQUE_ID_BYTES)]


class NcclGroup:
    """NCCL among all ranks, on the current stream. It is never destroyed: graphs hold its calls."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.library = ctypes.CDLL("libnccl.so.2")  # PyTorch has loaded it
        self.library.ncclGetErrorString.restype = ctypes.c_char_p
        identity = UniqueId()
        if ranks.index == 0:
            self._check(self.library.ncclGetUniqueId(ctypes.byref(identity)))
        identity = UniqueId.from_buffer_copy(bytes.fromhex(ranks.from_first(bytes(identity).hex())))
        self.communicator = ctypes.c_void_p()
        self._check(self.library.ncclCommInitRank(
            ctypes.byref(self.communicator), ctypes.c_int(ranks.count), identity,
            ctypes.c_int(ranks.index)))

    def is_right(self, device):
        """Whether every rank takes part: sums and gathers the ranks' numbers."""
        numbers = torch.arange(1.0, self.ranks.count + 1, device=device)
        own = numbers[self.ranks.index:self.ranks.index + 1].clone()
        gathered, total = torch.empty_like(numbers), own.clone()
        self.all_gather(gathered, own)
        self.all_reduce(total)
        return bool((gathered == numbers).all()) and total.item() == numbers.sum().item()

    def _check(self, result):
        if result != 0:
            raise RuntimeError(f"NCCL: {self.library.ncclGetErrorString(result).decode()}")

    @property
    def version(self):
        number = ctypes.c_int()
        self._check(self.library.ncclGetVersion(ctypes.byref(number)))
        return f"{number.value // 10000}.{number.value // 100 % 100}.{number.value % 100}"

    @staticmethod
    def _stream():
        return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def all_reduce(self, tensor):
        """The sum over ranks, in place."""
        pointer = ctypes.c_void_p(tensor.data_ptr())
        self._check(self.library.ncclAllReduce(
            pointer, pointer, ctypes.c_size_t(tensor.numel()),
            ctypes.c_int(DATA_TYPES[tensor.dtype]), ctypes.c_int(SUM), self.communicator,
            self._stream()))

    def all_gather(self, gathered, tensor):
        """Every rank's `tensor` behind each other in `gathered`."""
        self._check(self.library.ncclAllGather(
            ctypes.c_void_p(tensor.data_ptr()), ctypes.c_void_p(gathered.data_ptr()),
            ctypes.c_size_t(tensor.numel()), ctypes.c_int(DATA_TYPES[tensor.dtype]),
            self.communicator, self._stream()))
