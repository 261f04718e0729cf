// The CUDA part of weft as a shared module with a C interface (libweft_cuda.so, built by nvcc from
// cuda_module.cu). It is loaded only when GPU memory is asked for, so that weft runs where CUDA is absent.
// The module itself loads where there is no driver: every call then says so. One context serves one device;
// calls on a context may come from any thread, one at a time. Every function answers 0, or a WeftCudaKind
// with the text in `error`. Sizes and offsets are in bytes.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Both sides must agree: the module of another build is refused.
#define WEFT_CUDA_INTERFACE 1

enum WeftCudaKind {
  WEFT_CUDA_DONE = 0,
  WEFT_CUDA_NO_DRIVER = 1,   // libcuda is not there
  WEFT_CUDA_OLD_DRIVER = 2,  // it is older than the toolkit that built this
  WEFT_CUDA_NO_DEVICE = 3,
  WEFT_CUDA_OUT_OF_MEMORY = 4,
  WEFT_CUDA_NOT_SUPPORTED = 5,  // this device or driver cannot
  WEFT_CUDA_FAILED = 6
};

typedef struct WeftCudaError {
  char text[512];
} WeftCudaError;

typedef struct WeftCudaDevice {
  char name[256];
  char pci[16];  // 0000:18:00.0
  uint64_t memory;
  int processors;       // streaming multiprocessors
  int driver_cuda;      // the CUDA version of the driver, 1000 * major + 10 * minor
  int toolkit_cuda;     // of the toolkit that built the module
  int exports_dma_buf;  // the driver says that its memory can be given out as a dma-buf
} WeftCudaDevice;

typedef struct WeftCudaContext WeftCudaContext;

enum { WEFT_CUDA_FIRST = 8 };  // kFirstDifferences
typedef struct WeftCudaDifference {
  uint64_t bytes;
  uint64_t first[WEFT_CUDA_FIRST];  // ascending; as many as `bytes`, at most WEFT_CUDA_FIRST
} WeftCudaDifference;

/// A piece of work to time: `times` runs after one that is not counted.
enum WeftCudaWork { WEFT_CUDA_FILL = 0, WEFT_CUDA_VERIFY = 1, WEFT_CUDA_COPY = 2 };

int weft_cuda_interface(void);
int weft_cuda_device_count(int* count, WeftCudaError* error);
int weft_cuda_describe(int device, WeftCudaDevice* description, WeftCudaError* error);

int weft_cuda_open(int device, WeftCudaContext** context, WeftCudaError* error);
/// Memory that was not freed stays with the process until it ends.
void weft_cuda_close(WeftCudaContext* context);

/// `address` is aligned to 256 bytes; a whole number of 2 MiB is aligned to 2 MiB.
int weft_cuda_allocate(WeftCudaContext*, uint64_t bytes, void** address, WeftCudaError*);
void weft_cuda_free(WeftCudaContext*, void* address);
/// A dma-buf of `bytes` from `address` (both whole host pages); the caller closes it.
int weft_cuda_dma_buf(WeftCudaContext*, void* address, uint64_t bytes, int* descriptor, WeftCudaError*);

/// `memory` aligned to 16, `offset` of the pattern a multiple of 16. They return when the memory is written.
int weft_cuda_fill(WeftCudaContext*, void* memory, uint64_t bytes, uint64_t seed, uint64_t offset,
                   WeftCudaError*);
int weft_cuda_verify(WeftCudaContext*, const void* memory, uint64_t bytes, uint64_t seed, uint64_t offset,
                     WeftCudaDifference*, WeftCudaError*);
/// Between device and host, either way; returns when done.
int weft_cuda_copy(WeftCudaContext*, void* to, const void* from, uint64_t bytes, WeftCudaError*);

/// `milliseconds` of one run, by the device's own clock. A copy goes from `memory` to `other`.
int weft_cuda_time(WeftCudaContext*, int work, void* memory, void* other, uint64_t bytes, int times,
                   double* milliseconds, WeftCudaError*);

#ifdef __cplusplus
}
#endif
