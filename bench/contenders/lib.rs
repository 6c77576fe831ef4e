//! The crates crc-fast and crc32c behind a C interface, for bench_kernels only:
//! finished CRCs, crc = 0 to start.

use crc_fast::{CrcAlgorithm, Digest};

/// # Safety
/// `data` points to `len` readable bytes.
#[no_mangle]
pub unsafe extern "C" fn bench_crc_fast_crc32c(crc: u32, data: *const u8, len: usize) -> u32 {
    let bytes = std::slice::from_raw_parts(data, len);

    if crc == 0 {
        return crc_fast::crc32_iscsi(bytes);
    }
    extend(CrcAlgorithm::Crc32Iscsi, crc, bytes)
}

/// # Safety
/// `data` points to `len` readable bytes.
#[no_mangle]
pub unsafe extern "C" fn bench_crc_fast_crc32(crc: u32, data: *const u8, len: usize) -> u32 {
    let bytes = std::slice::from_raw_parts(data, len);

    if crc == 0 {
        return crc_fast::crc32_iso_hdlc(bytes);
    }
    extend(CrcAlgorithm::Crc32IsoHdlc, crc, bytes)
}

/// # Safety
/// `data` points to `len` readable bytes.
#[no_mangle]
pub unsafe extern "C" fn bench_crate_crc32c(crc: u32, data: *const u8, len: usize) -> u32 {
    crc32c::crc32c_append(crc, std::slice::from_raw_parts(data, len))
}

fn extend(algorithm: CrcAlgorithm, crc: u32, bytes: &[u8]) -> u32 {
    let mut digest = Digest::new_with_init_state(algorithm, u64::from(!crc));

    digest.update(bytes);
    digest.finalize() as u32
}
