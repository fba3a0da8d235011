// What every kernel of the suite stands on: half precision, packed loads with cache hints, reductions
// in a group of threads, the tensor core's instruction. It includes no header, so that NVRTC needs
// nothing but this text and a compilation takes tens of milliseconds.
typedef unsigned int u32;
typedef unsigned long long u64;

struct f16 {
  unsigned short bits;
};

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(f16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}
template <class T>
__device__ __forceinline__ T narrow(float x);
template <>
__device__ __forceinline__ float narrow<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ f16 narrow<f16>(float x) {
  f16 half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(x));
  return half;
}

// N neighbours, moved by the widest instructions their alignment allows.
template <class T, int N>
struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) Pack {
  T at[N];
};

template <int BYTES>
struct Word;
template <>
struct Word<1> { typedef unsigned char type; };
template <>
struct Word<2> { typedef unsigned short type; };
template <>
struct Word<4> { typedef u32 type; };
template <>
struct Word<8> { typedef uint2 type; };
template <>
struct Word<16> { typedef uint4 type; };

// Cache hints: 0 none, 1 through the read-only path, 2 streaming (first to be evicted).
template <int HINT, class W>
__device__ __forceinline__ W load_word(const W* from) {
  if (HINT == 1) return __ldg(from);
  if (HINT == 2) return __ldcs(from);
  return *from;
}
template <int HINT, class T, int N>
__device__ __forceinline__ Pack<T, N> load(const T* from) {
  constexpr int bytes = sizeof(T) * N > 16 ? 16 : sizeof(T) * N;
  constexpr int words = sizeof(T) * N / bytes;
  typedef typename Word<bytes>::type W;
  union {
    Pack<T, N> pack;
    W word[words];
  } both;
#pragma unroll
  for (int i = 0; i < words; ++i) both.word[i] = load_word<HINT>((const W*)from + i);
  return both.pack;
}
template <int HINT, class T, int N>
__device__ __forceinline__ void store(T* to, const Pack<T, N>& pack) {
  constexpr int bytes = sizeof(T) * N > 16 ? 16 : sizeof(T) * N;
  constexpr int words = sizeof(T) * N / bytes;
  typedef typename Word<bytes>::type W;
  union {
    Pack<T, N> pack;
    W word[words];
  } both;
  both.pack = pack;
#pragma unroll
  for (int i = 0; i < words; ++i) {
    if (HINT == 2) __stcs((W*)to + i, both.word[i]);
    else ((W*)to)[i] = both.word[i];
  }
}

// Calls f(first element, pack?) for packs of VEC elements that cover [0, n); the rest goes element
// by element. ORDER 0: a block covers one contiguous chunk of ITEMS packs a thread; 1: the grid
// strides over everything. OWNED: a thread's packs are neighbours (1) or a block apart (0).
template <int BLOCK, int VEC, int ITEMS, int ORDER, int OWNED, class F, class G>
__device__ __forceinline__ void cover(int n, F packed, G single) {
  const int packs = n / VEC;
  const int chunk = BLOCK * ITEMS;
  int first = blockIdx.x * chunk;
  do {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int pack = first + (OWNED ? threadIdx.x * ITEMS + item : item * BLOCK + threadIdx.x);
      if (pack < packs) packed(pack * VEC);
    }
    first += gridDim.x * chunk;
  } while (ORDER == 1 && first < packs);
  if (VEC > 1 && blockIdx.x == 0) {
    const int i = packs * VEC + threadIdx.x;
    if (i < n) single(i);
  }
}

struct Sum {
  static __device__ __forceinline__ float identity() { return 0.0f; }
  static __device__ __forceinline__ float of(float a, float b) { return a + b; }
};
struct Max {
  static __device__ __forceinline__ float identity() { return -__int_as_float(0x7f800000); }
  static __device__ __forceinline__ float of(float a, float b) { return fmaxf(a, b); }
};

template <class Op>
__device__ __forceinline__ float warp_reduce(float x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    x = Op::of(x, __shfl_xor_sync(0xffffffffu, x, offset));
  }
  return x;
}

// Over the THREADS threads along x; a block may hold several such groups along y. Every thread of
// the block has to call it. METHOD 0: through shared memory alone; 1: shuffles first.
template <class Op, int THREADS, int GROUPS, int METHOD>
__device__ __forceinline__ float group_reduce(float x) {
  if (METHOD == 1) {
    x = warp_reduce<Op>(x);
    if (THREADS == 32) return x;
    __shared__ float partial[GROUPS][(THREADS + 31) / 32];
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.y][threadIdx.x / 32] = x;
    __syncthreads();
    float all = Op::identity();
#pragma unroll
    for (int i = 0; i < THREADS / 32; ++i) all = Op::of(all, partial[threadIdx.y][i]);
    return all;
  }
  __shared__ float slot[GROUPS][THREADS];
  __syncthreads();
  slot[threadIdx.y][threadIdx.x] = x;
  __syncthreads();
#pragma unroll
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      slot[threadIdx.y][threadIdx.x] =
          Op::of(slot[threadIdx.y][threadIdx.x], slot[threadIdx.y][threadIdx.x + half]);
    }
    __syncthreads();
  }
  return slot[threadIdx.y][0];
}

__device__ __forceinline__ u32 mix(u32 x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

__device__ __forceinline__ float gelu(float x) {
  const float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
  return x / (1.0f + __expf(-2.0f * inner));
}
__device__ __forceinline__ float silu(float x) { return x / (1.0f + __expf(-x)); }

__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return (u32)__cvta_generic_to_shared(pointer);
}
// BYTES (4, 8 or 16) from global into shared memory; zeros where `inside` is false.
template <int BYTES>
__device__ __forceinline__ void copy_async(void* shared, const void* global, bool inside) {
  const int bytes = inside ? BYTES : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(shared)),
               "l"(global), "n"(BYTES), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

__device__ __forceinline__ void load_matrix(u32 (&to)[4], const f16* shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(shared))
               : "memory");
}
__device__ __forceinline__ void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// One BM x BN tile of A (m x k, rows) times the transpose of B (n x k, rows) on tensor cores, with
// STAGES tiles of BK in flight, rows padded by PAD elements, copies of VEC elements and WM x WN
// warps; finish(row, column, value, value of the next column) takes the results. k a multiple of 8.
template <int BM, int BN, int BK, int STAGES, int WM, int WN, int VEC, int PAD, class F>
__device__ __forceinline__ void tile_product(const f16* a, const f16* b, int m, int n, int k,
                                             int row0, int column0, F finish) {
  extern __shared__ __align__(128) unsigned char memory[];
  constexpr int stride = BK + PAD;
  constexpr int threads = WM * WN * 32;
  constexpr int rows = BM / WM, columns = BN / WN;
  f16* tiles_a = (f16*)memory;
  f16* tiles_b = tiles_a + STAGES * BM * stride;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / WN * rows, warp_column = warp % WN * columns;
  const int steps = (k + BK - 1) / BK;
  auto fetch = [&](int step) {
    if (step < steps) {
      f16* to_a = tiles_a + step % STAGES * BM * stride;
      f16* to_b = tiles_b + step % STAGES * BN * stride;
      for (int i = threadIdx.x * VEC; i < BM * BK; i += threads * VEC) {
        const int row = row0 + i / BK, column = step * BK + i % BK;
        const bool inside = row < m && column < k;
        copy_async<VEC * 2>(to_a + i / BK * stride + i % BK, inside ? a + (u64)row * k + column : a,
                            inside);
      }
      for (int i = threadIdx.x * VEC; i < BN * BK; i += threads * VEC) {
        const int row = column0 + i / BK, column = step * BK + i % BK;
        const bool inside = row < n && column < k;
        copy_async<VEC * 2>(to_b + i / BK * stride + i % BK, inside ? b + (u64)row * k + column : b,
                            inside);
      }
    }
    copy_commit();
  };
  float sum[rows / 16][columns / 8][4] = {};
  for (int step = 0; step < STAGES - 1; ++step) fetch(step);
  for (int step = 0; step < steps; ++step) {
    if (STAGES == 1) fetch(step);
    copy_wait<(STAGES > 1 ? STAGES - 2 : 0)>();
    __syncthreads();
    if (STAGES > 1) fetch(step + STAGES - 1);
    const f16* from_a = tiles_a + step % STAGES * BM * stride;
    const f16* from_b = tiles_b + step % STAGES * BN * stride;
#pragma unroll
    for (int kk = 0; kk < BK; kk += 16) {
      u32 fragment_a[rows / 16][4];
#pragma unroll
      for (int i = 0; i < rows / 16; ++i) {
        load_matrix(fragment_a[i],
                    from_a + (warp_row + i * 16 + lane % 16) * stride + kk + lane / 16 * 8);
      }
#pragma unroll
      for (int j = 0; j < columns / 16; ++j) {
        u32 fragment_b[4];
        load_matrix(fragment_b, from_b + (warp_column + j * 16 + lane / 16 * 8 + lane % 8) * stride +
                                    kk + lane / 8 % 2 * 8);
#pragma unroll
        for (int i = 0; i < rows / 16; ++i) {
          multiply(sum[i][j * 2], fragment_a[i], fragment_b[0], fragment_b[1]);
          multiply(sum[i][j * 2 + 1], fragment_a[i], fragment_b[2], fragment_b[3]);
        }
      }
    }
    if (STAGES == 1) __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < rows / 16; ++i) {
#pragma unroll
    for (int j = 0; j < columns / 8; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = row0 + warp_row + i * 16 + half * 8 + lane / 4;
        const int column = column0 + warp_column + j * 8 + lane % 4 * 2;
        if (row < m && column < n) {
          finish(row, column, sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
        }
      }
    }
  }
}

// Which tile a block takes: neighbours along n within groups of GROUP rows of tiles, so that
// blocks that run together share more of A and B in L2.
template <int GROUP>
__device__ __forceinline__ void grouped(int block, int tiles_m, int tiles_n, int& tile_m,
                                        int& tile_n) {
  const int per_group = GROUP * tiles_n;
  const int group = block / per_group;
  const int height = min(GROUP, tiles_m - group * GROUP);
  tile_m = group * GROUP + block % per_group % height;
  tile_n = block % per_group / height;
}

// The rows of a matrix go to groups of THREADS threads, GROUPS groups a block. A group beyond the
// last row repeats it, so that every thread reaches every barrier.
template <int GROUPS>
__device__ __forceinline__ int my_row(int rows) {
  return min((int)(blockIdx.x * GROUPS + threadIdx.y), rows - 1);
}
// f(first element) for a thread's packs of a row; columns is a multiple of VEC.
template <int THREADS, int VEC, int UNROLL, class F>
__device__ __forceinline__ void along_row(int columns, F f) {
#pragma unroll UNROLL
  for (int i = threadIdx.x * VEC; i < columns; i += THREADS * VEC) f(i);
}
// A row's place in dynamic shared memory, as floats.
__device__ __forceinline__ float* kept_row(int columns) {
  extern __shared__ __align__(128) unsigned char memory[];
  return (float*)memory + threadIdx.y * columns;
}
