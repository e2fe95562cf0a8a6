//! A quick look at throughput.
use smallfloat_kernels::*;
use std::time::Instant;
fn main() {
    let n = 1 << 18;
    let mut s = 1u64;
    let x: Vec<f32> = (0..n)
        .map(|_| {
            let mut t = 0.0;
            for _ in 0..4 {
                s = s.wrapping_mul(6364136223846793005).wrapping_add(1);
                t += (s >> 40) as f32 / 16777216.0 - 0.5;
            }
            t * 0.1
        })
        .collect();
    for name in ["cfloat8_1_4_3:bias=7", "e5m2", "e4m3fn", "e8m0fnu", "binary8p7se", "shp:bias=15", "uhp"] {
        let f: smallfloat::Format = name.parse().unwrap();
        let t = Instant::now();
        let e = Encoder::<f32>::new(&f, &f.default_projection()).unwrap();
        let build = t.elapsed();
        let mut c = vec![0u16; n];
        let mut best = f64::MAX;
        for _ in 0..30 {
            let t = Instant::now();
            for (x, c) in x.chunks(32768).zip(c.chunks_mut(32768)) {
                e.encode(x, c);
            }
            best = best.min(t.elapsed().as_secs_f64());
        }
        let d = Decoder::<f32>::new(&f, Some(&smallfloat::formats::BINARY32.default_projection())).unwrap();
        let mut y = vec![0f32; n];
        let mut bd = f64::MAX;
        for _ in 0..30 {
            let t = Instant::now();
            for (y, c) in y.chunks_mut(32768).zip(c.chunks(32768)) {
                d.decode(c, y);
            }
            bd = bd.min(t.elapsed().as_secs_f64());
        }
        let mut bc = f64::MAX;
        for _ in 0..5 {
            let t = Instant::now();
            let mut cells = Cells::<f32>::new(f.precision());
            for x in x.chunks(32768) {
                cells.add(x);
            }
            bc = bc.min(t.elapsed().as_secs_f64());
        }
        let mut be = f64::MAX;
        for _ in 0..5 {
            let t = Instant::now();
            for (x, y) in x.chunks(32768).zip(y.chunks(32768)) {
                ErrorSums::of(x, y);
            }
            be = be.min(t.elapsed().as_secs_f64());
        }
        println!(
            "{name}: build {build:?} encode {:.2} decode {:.2} cells {:.2} error {:.2} Gelem/s",
            n as f64 / best / 1e9,
            n as f64 / bd / 1e9,
            n as f64 / bc / 1e9,
            n as f64 / be / 1e9
        );
    }
}
