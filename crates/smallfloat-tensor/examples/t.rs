use smallfloat_tensor::*;
fn main(){
 let d=std::path::Path::new("/tmp/t-time");std::fs::create_dir_all(d).unwrap();
 let i=d.join("i");let n=100;
 let specs=(0..n).map(|k|TensorSpec::new(format!("t{k}"),Dtype::F32,[10])).collect();
 let s=Sink::create(&i,specs,vec![],SinkOptions{overwrite:true,..Default::default()}).unwrap();
 for k in 0..n{let b:Vec<u8>=(0..10).flat_map(|j|((k*10+j) as f32 *0.01).to_le_bytes()).collect();s.append(k,&b).unwrap();}
 s.finish().unwrap();
 for f in ["cfloat8_1_4_3","cfloat8_1_5_2","shp","shp:bias=15","uhp","e4m3fn","binary16p11se"]{ for b in [BiasPolicy::LeastError,BiasPolicy::Amax]{
  let mut o=Options::new(f.parse().unwrap()); if o.format.bias().is_none(){o.bias=b;} o.overwrite=true;
  let t=std::time::Instant::now(); let r=quantize(&i,&d.join("o"),&o,&|_|true,&mut|_|());
  println!("{f} {b} {:?} ms/tensor {}",t.elapsed().as_secs_f64()*10.0,r.is_ok());
 }}
}
