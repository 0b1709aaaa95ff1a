"""Ad hoc: NTT and quotient against the host, with times."""
import sys, time, random
import numpy as np, cupy
from cuzkd.kernels.device_ntt import DeviceNtt, DeviceQuotient, passes
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels import ntt as host_ntt, quotient as host_quotient
from cuzkd.model import Curve

def rev(n):
    b=n.bit_length()-1
    i=np.arange(n,dtype=np.uint64); r=np.zeros(n,dtype=np.uint64)
    for k in range(b): r|=((i>>np.uint64(k))&np.uint64(1))<<np.uint64(b-1-k)
    return r.astype(np.int64)

def rand(n, r, rng):
    x=rng.integers(0,1<<64,(n,4),dtype=np.uint64,endpoint=False)
    x[:,3]%=np.uint64((r>>192))
    return x

def timed(f, reps=7):
    f(); cupy.cuda.Device().synchronize()
    ts=[]
    for _ in range(reps):
        a,b=cupy.cuda.Event(),cupy.cuda.Event(); a.record(); f(); b.record(); b.synchronize(); ts.append(cupy.cuda.get_elapsed_time(a,b))
    return sorted(ts)[len(ts)//2]

rng=np.random.default_rng(1)
for curve in Curve:
    r=PARAMS[curve].r
    t=time.time(); DeviceNtt(curve,4); print(curve,"compile",round(time.time()-t,2))
    for k in list(range(1,15))+[16,17,20,23]:
        n=1<<k
        batch=3 if k<14 else 1
        x=np.stack([rand(n,r,rng) for _ in range(batch)])
        t=DeviceNtt(curve,k)
        d=cupy.asarray(x); t.down(d,inverse=False)
        want=x.copy()
        for w in want: host_ntt.ntt(curve,w,threads=16)
        R=rev(n)
        ok=np.array_equal(d.get()[:,R],want)
        # reversed->natural of the values at reversed positions
        d=cupy.asarray(np.ascontiguousarray(x[:,R])); t.up(d)
        ok2=np.array_equal(d.get(),want)
        if not(ok and ok2): print("BAD",curve,k,ok,ok2)
    for k in (1,2,5,11,14,18):
        n=1<<k
        a,b=rand(n,r,rng),rand(n,r,rng); c=rand(n,r,rng)
        rows=n-1 if n>2 else n
        out=np.empty((n,4),np.uint64)
        host_quotient.odd_coset_quotient(curve,a[:rows].copy(),b[:rows].copy(),c[:rows].copy(),k,out,threads=16)
        abc=np.stack([a,b,c]); abc[:,rows:]=0
        d=cupy.asarray(abc); o=cupy.zeros((n,4),cupy.uint64)
        q=DeviceQuotient(curve,k); q.run(d,o)
        if not np.array_equal(o.get(),out): print("BAD quotient",curve,k)
    print(curve,"differential done")
    for k in (14,17,20,22,24):
        n=1<<k
        t=DeviceNtt(curve,k); x=cupy.asarray(rand(n,r,rng))
        m=timed(lambda: t.down(x,inverse=False)); u=timed(lambda: t.up(x))
        floor=n*k/2/59.6e9*1e3
        print(f"ntt {curve} 2^{k}: down {m:.3f} up {u:.3f} ms floor {floor:.3f} passes {passes(k)}")
        if k>=20:
            q=DeviceQuotient(curve,k); abc=cupy.empty((3,n,4),cupy.uint64); abc[:]=x; o=cupy.empty((n,4),cupy.uint64)
            print(f"quotient {curve} 2^{k}: {timed(lambda: q.run(abc,o)):.3f} ms")
            del q,abc,o
        del t,x
        cupy.get_default_memory_pool().free_all_blocks()
