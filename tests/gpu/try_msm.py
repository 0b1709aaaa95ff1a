"""Ad hoc: MSM against the host, with times."""
import sys, time
import numpy as np, cupy
from cuzkd.kernels.device_msm import DeviceMsm, MsmPlan, joined
from cuzkd.kernels.device_points import PointTables
from cuzkd.kernels.params import PARAMS
from cuzkd.kernels.curve import Group, width, combine
from cuzkd.kernels.field import scalars_from_ints, ints_from_scalars
from cuzkd.kernels.fixed_base import multiples
from cuzkd.kernels.msm import msm
from cuzkd.model import Curve

rng=np.random.default_rng(5)
def rand(n, r):
    x=rng.integers(0,1<<64,(n,4),dtype=np.uint64,endpoint=False)
    x[:,3]%=np.uint64((r>>192))
    return x

def check(curve,group,n,bits,stored,bases,scalars,name):
    plan=MsmPlan(curve,group,n,bits,stored)
    db=cupy.asarray(bases); ds=cupy.asarray(scalars)
    t=PointTables(curve,group)
    table=t.multiples(db,plan.windows,bits) if stored else db
    m=DeviceMsm(plan)
    got=joined(plan,*m.run(table,ds))
    want=msm(curve,group,bases,scalars,threads=16)
    ok=np.array_equal(got,want)
    if not ok: print("BAD",curve,group,n,bits,stored,name,plan.rounds,plan.bins)
    return ok

PROFILE={}
def profile(on=True):
    orig=loader.Kernels.__getitem__
    def get(self,name):
        f=orig(self,name)
        if not PROFILE.get("on"): return f
        def call(*a,**k):
            e0,e1=cupy.cuda.Event(),cupy.cuda.Event(); e0.record(); f(*a,**k); e1.record()
            PROFILE.setdefault("t",[]).append((name,a[0][0],e0,e1))
        return call
    loader.Kernels.__getitem__=get
def profiled(fn):
    PROFILE["on"]=True; PROFILE["t"]=[]; fn(); PROFILE["on"]=False; cupy.cuda.Device().synchronize()
    out=[(n,g,round(cupy.cuda.get_elapsed_time(a,b),3)) for n,g,a,b in PROFILE["t"]]
    return out

def stage_times(m,table,scalars,reps=5):
    names=["sort","add","reduce","list"]
    res=[]
    for _ in range(reps+1):
        ev=[cupy.cuda.Event() for _ in range(5)]
        ev[0].record(); slots,ones=m._sorted(scalars); ev[1].record(); a=m._added(table,slots); ev[2].record(); s=m._reduced(a); ev[3].record(); o=m._listed(table,ones); ev[4].record(); ev[4].synchronize()
        res.append([cupy.cuda.get_elapsed_time(ev[i],ev[i+1]) for i in range(4)]+[cupy.cuda.get_elapsed_time(ev[0],ev[4])])
    res=np.median(np.array(res[1:]),axis=0)
    return dict(zip(names+["total"],[round(float(x),3) for x in res])), slots, ones, (s,o)

from concurrent.futures import ThreadPoolExecutor
from cuzkd.kernels import loader
t0=time.time()
jobs=[("ntt",c,{}) for c in Curve]+[("msm_sort",c,{}) for c in Curve]+[(m,c,{"CUZKD_GROUP":g}) for g in "21" for m in ("msm_reduce","points","msm_add") for c in Curve]
def one(j):
    t=time.time(); loader.cubin(j[0],j[1],"sm_90",j[2]); return round(time.time()-t,1)
with ThreadPoolExecutor(16) as pool: ts=list(pool.map(one,[j for j in jobs if j[0]!='ntt']))
print("compile all",round(time.time()-t0,1))
profile()
which=sys.argv[1:] or ["diff","bench"]
groups=[(c,g) for c in (Curve.BLS12_381,Curve.BN254) for g in (Group.G1,Group.G2)]
if "diff" in which:
    for curve,group in groups:
        t0=time.time(); good=0; total=0
        r=PARAMS[curve].r
        for n,bits in ((1,4),(2,5),(3,7),(100,7),(1000,9),(5000,12),(1<<14,13)):
            if group is Group.G2 and n>5000: continue
            bases=multiples(curve,group,rand(n,r),threads=16)
            if n>50:
                bases[7]=0; bases[20]=bases[21]; bases[23]=bases[24]; bases[40:44]=bases[39]
            cases={"random":rand(n,r),"zeros":np.zeros((n,4),np.uint64),"ones":scalars_from_ints([1]*n),"minus":scalars_from_ints([r-1]*n),
                   "equal":scalars_from_ints([r//3]*n),"five":scalars_from_ints([5]*n),"mixed":scalars_from_ints([[0,1,r-1,2,r-2,(1<<64)+3,r//2,1<<128][i%8] for i in range(n)])}
            s=rand(n,r)
            if n>50: s[20]=s[21]; s[24]=scalars_from_ints([r-int(ints_from_scalars(s[23:24])[0])])[0]; s[40:44]=s[39]
            cases["repeated"]=s
            for name,sc in cases.items():
                for stored in (True,False):
                    total+=1; good+=check(curve,group,n,bits,stored,bases,sc,name)
        print(curve,group,f"{good}/{total}",round(time.time()-t0,1),"s",flush=True)
if "bench" in which:
    import subprocess
    def clock(): return subprocess.run(["nvidia-smi","--query-gpu=clocks.sm,power.draw","--format=csv,noheader"],capture_output=True,text=True).stdout.strip()
    for curve,group,logs in ((Curve.BLS12_381,Group.G1,((16,13),(18,15),(20,19),(20,20),(22,20),(24,22))),(Curve.BN254,Group.G1,((20,19),(24,22))),(Curve.BLS12_381,Group.G2,((18,15),(20,19)))):
        r=PARAMS[curve].r
        for log_n,bits in logs:
            n=1<<log_n; h=log_n//2
            a=rand(1<<(log_n-h),r); b=rand(1<<h,r)
            left=cupy.asarray(multiples(curve,group,a,threads=16)); right=cupy.asarray(multiples(curve,group,b,threads=16))
            bases=cupy.empty((n,width(curve,group)),cupy.uint64)
            t=PointTables(curve,group); t.sums(left,right,bases)
            plan=MsmPlan(curve,group,n,bits,True)
            t0=time.time(); table=t.multiples(bases,plan.windows,bits); cupy.cuda.Device().synchronize(); tt=time.time()-t0
            sc=rand(n,r); ds=cupy.asarray(sc)
            m=DeviceMsm(plan)
            times,slots,ones,out=stage_times(m,table,ds)
            # expected: sum_i a_i sum_j s_ij + sum_j b_j sum_i s_ij
            s32=sc.view(np.uint32).reshape(1<<(log_n-h),1<<h,8).astype(np.uint64)
            rows=s32.sum(1); cols=s32.sum(0)
            val=lambda m_: [sum(int(x)<<(32*k) for k,x in enumerate(row)) for row in m_]
            ai=[int(x) for x in ints_from_scalars(a)]; bi=[int(x) for x in ints_from_scalars(b)]
            e=(sum(x*y for x,y in zip(ai,val(rows)))+sum(x*y for x,y in zip(bi,val(cols))))%r
            ok=np.array_equal(joined(plan,*out),multiples(curve,group,scalars_from_ints([e]),threads=1))
            print(f"{curve} {group.name} 2^{log_n} c{bits} W{plan.windows} rounds {plan.rounds} slots {slots/1e6:.1f}M {times} ok={ok} table {tt:.2f}s mem {cupy.get_default_memory_pool().total_bytes()/1e9:.1f}GB clock {clock()}",flush=True)
            print("   ",[x for x in profiled(lambda: m.run(table,ds)) if x[2]>0.02],flush=True)
            if log_n==24 and curve is Curve.BLS12_381:
                bits_sc=sc.copy(); k=rng.random(n); bits_sc[k<0.85]=0; bits_sc[(k<0.43),0]=1
                times,slots,ones,out=stage_times(m,table,cupy.asarray(bits_sc)); print("  bits",times,ones,flush=True)
            del m,table,bases,ds; cupy.get_default_memory_pool().free_all_blocks()
