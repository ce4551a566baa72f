//! scratch
use std::time::Instant;
use repackbench_reader::hg::*;
use repackbench_writer::*;
fn cpu() -> f64 { let s = std::fs::read_to_string("/proc/self/stat").unwrap(); let f: Vec<&str> = s.split(' ').collect(); (f[13].parse::<f64>().unwrap() + f[14].parse::<f64>().unwrap()) / 100.0 }
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let source = HgRepository::open(a[2].as_ref()).unwrap();
    let spec = a[3].parse().unwrap();
    let t = Instant::now();
    match a[1].as_str() {
        "convert" => {
            let threads = a.get(5).map_or(2, |t| t.parse().unwrap());
            match hg::convert(&source, &spec, a[4].as_ref(), true, threads, &NoProgress) {
                Ok((c, p)) => println!("{} cpu {:.2} elapsed {:?} sync {:?} total {:?} notes {:?}", p.display(), cpu(), c.elapsed, c.sync, t.elapsed(), c.notes),
                Err(e) => { println!("ERROR {e}"); std::process::exit(1) }
            }
        }
        "floor" => floor(&source, &spec),
        "rechoose" => {
            let hg = hg::rechosen::HgProgram::new(std::path::Path::new(&a[5]), a.get(6).map(|p| p.as_ref())).unwrap();
            match hg::rechosen::convert_rechosen(&source, &spec, &hg, a[4].as_ref(), true, 2, &NoProgress) {
                Ok((c, p)) => println!("{} hg {} elapsed {:?} total {:?}", p.display(), hg.version(), c.elapsed, t.elapsed()),
                Err(e) => { println!("ERROR {e}"); std::process::exit(1) }
            }
        }
        _ => panic!(),
    }
}
fn floor(source: &HgRepository, spec: &repackbench_codec::CodecSpec) {
    use repackbench_codec::*;
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    let mut total = 0; 
    for f in source.revlogs() {
        let r = revlog::Revlog::open(f).unwrap();
        let mut b = Vec::new();
        for i in 0..r.len() { chunks.push(r.chunks(i, i, &mut b).unwrap().get(i).unwrap().to_vec()); }
    }
    let t = Instant::now(); let c0 = cpu();
    let mut d = RevlogDecoder::new(ZlibReader::Libdeflate);
    let mut e = RevlogEncoder::new(spec).unwrap();
    let (mut p, mut s, mut q) = (Vec::new(), Vec::new(), Vec::new());
    for c in &chunks {
        p.clear(); s.clear(); q.clear();
        d.decode(c, 1 << 30, &mut p).unwrap();
        e.encode(&p, &mut s).unwrap();
        d.decode(&s, p.len(), &mut q).unwrap();
        assert_eq!(p, q);
        total += p.len();
    }
    let el = t.elapsed();
    println!("floor {spec}: cpu {:.2} {} chunks, payload {:.1} MB, {:?} = on two cores {:?}", cpu() - c0, chunks.len(), total as f64 / 1e6, el, el / 2);
}
