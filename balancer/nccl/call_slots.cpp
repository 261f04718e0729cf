#include "balancer/nccl/call_slots.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace weft::nccl {
namespace {

/// The tables of a library's dynamic section that this reads (System V ABI, chapter 5).
struct DynamicTables {
  const ElfW(Rela) * jump_slots = nullptr;
  std::size_t jump_slots_size = 0;
  const ElfW(Rela) * relocations = nullptr;
  std::size_t relocations_size = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
};

DynamicTables tables_of(const link_map* library) {
  DynamicTables tables;
  // glibc has added the library's address to these already.
  for (const ElfW(Dyn)* entry = library->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_JMPREL) tables.jump_slots = std::bit_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_PLTRELSZ) tables.jump_slots_size = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) tables.relocations = std::bit_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_RELASZ) tables.relocations_size = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = std::bit_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) tables.names = std::bit_cast<const char*>(address);
  }
  return tables;
}

void** find_in(const link_map* library, const DynamicTables& tables, const ElfW(Rela) * first,
               std::size_t bytes, const char* function) {
  for (std::size_t i = 0; first != nullptr && i < bytes / sizeof(ElfW(Rela)); ++i) {
    const auto type = ELF64_R_TYPE(first[i].r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    const auto& symbol = tables.symbols[ELF64_R_SYM(first[i].r_info)];
    if (std::strcmp(tables.names + symbol.st_name, function) == 0)
      return std::bit_cast<void**>(library->l_addr + first[i].r_offset);
  }
  return nullptr;
}

}  // namespace

void** find_call_slot(const void* address, const char* function) {
  Dl_info about{};
  link_map* library = nullptr;
  if (dladdr1(address, &about, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0 ||
      library == nullptr)
    return nullptr;
  const auto tables = tables_of(library);
  if (tables.symbols == nullptr || tables.names == nullptr) return nullptr;
  void** slot = find_in(library, tables, tables.jump_slots, tables.jump_slots_size, function);
  return slot != nullptr ? slot
                         : find_in(library, tables, tables.relocations, tables.relocations_size, function);
}

bool fill_call_slot(void** slot, void* function) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const start = std::bit_cast<void*>(std::bit_cast<std::uintptr_t>(slot) & ~(page - 1));
  // Left writable: what was so before, and neighbours of it, may be filled by the linker at any time.
  if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, function, __ATOMIC_RELEASE);
  return true;
}

}  // namespace weft::nccl
