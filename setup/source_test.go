package setup

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// samples are a file of each format, or the two of a folder: a header, which may
// be empty, and lines below it.
func samples() map[string]sample {
	return map[string]sample{
		"stream": {
			source: "FILE", header: `{"fairlead":"trace","version":5,"kinds":[{"name":"cpu","unit":"cores","per_unit":1000}]}` + "\n",
			lines: []string{`{"t":0,"add":{"node":1,"capacity":{"cpu":2000}}}`, `{"t":5,"submit":{"job":1,"task":0,"demand":{"cpu":2000}}}`},
		},
		"swf": {
			source: "swf:FILE", header: "; MaxProcs: 8\n",
			lines: []string{"1 0 3 100 1 -1 -1 1 200 -1 1 1 1 -1 1 -1 -1 -1", "2 5 3 100 1 -1 -1 1 200 -1 1 1 1 -1 1 -1 -1 -1"},
		},
		"ecsched": {source: "ecsched:FILE", lines: []string{"1 0 71 1 1", "2 21 56 4 2"}},
		"qos":     {source: "qos:FILE", lines: []string{"{0,1,1,60,0.5,0.25,11,1,[]}.", "{5,2,1,60,0.5,0.25,11,1,[]}."}},
		"dlrm": {
			source: "dlrm:FILE", header: "instance_sn,role,app_name,cpu_request,gpu_request,rdma_request,memory_request,disk_request,max_instance_per_node,creation_time,scheduled_time,deletion_time\n",
			lines: []string{"i0,HN,a,12,1,25,120.0,640.0,1,,,60.0", "i1,HN,a,12,1,25,120.0,640.0,1,,,"},
		},
		"philly": {
			source: "philly:FILE", header: "timestamp,duration,num_gpus,gpu_time,cluster\n",
			lines: []string{"2017-10-09 07:01:55,66.0,1,66.0,11cb48", "2017-10-09 06:13:03,2951.0,8,23608.0,6214e9"},
		},
		"chronus": {
			source: "chronus:FILE", header: "job_id,user,num_gpu,submit_time,duration,expect_time_list,expect_value_list,best_effort\n",
			lines: []string{"0,a,1,5601,96,159-189,10-8,0", "1,b,16,7505,106,235,10,1"},
		},
		"helios": {
			source: "helios:FILE", header: "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,duration\n",
			lines: []string{"1,u,vc,1,4,1,COMPLETED,2020-06-09 18:41:01,36848", "2,u,vc,16,64,2,FAILED,2020-06-09 18:41:27,249"},
		},
		"acme": {
			source: "acme:FILE", header: "job_id,user,node_num,gpu_num,cpu_num,state,submit_time,duration\n",
			lines: []string{"1,u,1,8,128,COMPLETED,2023-03-01 00:18:22+08:00,117", "2,u,2,16,256,FAILED,2023-03-01 00:23:58+08:00,2693"},
		},
		"gavel": {
			source: "gavel:FILE?table=TABLE",
			lines:  []string{"A3C\tpython3\trl\t--max-steps\t0\t800\t1\t1\t-1.000000\t0", "A3C\tpython3\t--max-steps\t0\t800\t5\t1"},
		},
		"alibaba2020 machines": {
			source: "alibaba2020:DIR", file: "pai_machine_spec.csv", lines: []string{"m0,T4,96,512,2", "m1,CPU,96,512,0"},
		},
		"alibaba2020 jobs": {
			source: "alibaba2020:DIR", file: "pai_job_table.csv", lines: []string{"j0,id0,ann,Terminated,5.0,90.0", "j1,id1,bob,Failed,7.0,80.0"},
		},
		"alibaba2020 tasks": {
			source: "alibaba2020:DIR", file: "pai_task_table.csv",
			lines: []string{"j0,worker,2.0,Terminated,6.0,90.0,600.0,29.3,50.0,T4", "j1,ps,1.0,Failed,8.0,80.0,600.0,29.3,,"},
		},
		"alibaba2026 nodes": {
			source: "alibaba2026:DIR", file: "node_info_df.csv", header: "node_name,gpu_model,gpu_capacity_num,cpu_num\n",
			lines: []string{"0,A10,4,192", "1,A10,1,128"},
		},
		"alibaba2026 jobs": {
			source: "alibaba2026:DIR", file: "job_info_df.csv", header: "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n",
			lines: []string{"239255,13,A10,20,1,1,0,2764,HP", "437260,57,A10,15,1,2,958,4106,Spot"},
		},
		"kubernetes": {
			source: "kubernetes:FILE", whole: "looking for beginning of value",
			lines: []string{
				`{"kind":"Node","metadata":{"name":"n0"},"status":{"allocatable":{"cpu":"4","pods":"10"}}}`,
				`{"kind":"Pod","metadata":{"name":"p0"},"spec":{"nodeName":"n0"}}`,
			},
		},
		"azure2017 flavours": {
			source: "azure2017:DIR", file: "flav_map.txt",
			lines: []string{"1,0.75 a", "8,56 o"},
		},
		"azure2017 bins": {
			source: "azure2017:DIR", file: "v1.interval_map.txt",
			lines: []string{"0 0", "300 1"},
		},
		"azure2017 train": {
			source: "azure2017:DIR", file: "v1.train.txt",
			lines: []string{"300 a,|,o,a,|", "600 a,|"},
		},
		"azure2017 dev": {
			source: "azure2017:DIR", file: "v1.dev.txt",
			lines: []string{"900 a,|", "1200 o,|"},
		},
		"azure2017 fates of dev": {
			source: "azure2017:DIR", file: "v1.dev.c1500.txt",
			lines: []string{"900 U0,|", "1200 U0,|"},
		},
		"azure2017 test": {
			source: "azure2017:DIR", file: "v1.test.txt",
			lines: []string{"1500 a,|", "1800 o,|"},
		},
		"azure2017 fates of test": {
			source: "azure2017:DIR", file: "v1.test.c2100.txt",
			lines: []string{"1500 U0,|", "1800 U0,|"},
		},
		"azure2020 VMs": {
			source: "azure2020:DIR", file: "vm.csv", header: "vmId,vmTypeId,priority,starttime,endtime\n",
			lines: []string{"1,1,0,-1.5,2.5", "2,1,1,0.25,"},
		},
		"azure2020 types": {
			source: "azure2020:DIR", file: "vmType.csv", header: "vmTypeId,machineId,core,memory\n",
			lines: []string{"1,1,0.5,0.25", "1,2,0.5,0.25"},
		},
		"openb pods": {
			source: "openb:DIR", file: "openb_pod_list_default.csv", header: "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n",
			lines: []string{"p0,4000,16384,1,400", "p1,4000,16384,1,400"},
		},
		"openb nodes": {
			source: "openb:DIR", file: "openb_node_list_gpu_node.csv", header: "sn,cpu_milli,memory_mib,gpu,model\n",
			lines: []string{"n0,96000,393216,1,G2", "n1,96000,393216,1,G2"},
		},
		"google2011 tasks": {
			source: "google2011:DIR", file: "task_events-part-00000-of-00500.csv",
			lines: []string{"0,,7,0,,0,ann,2,9,0.125,0.07446,0.0004,1", "610000000,,8,0,,0,bob,0,0,0.25,0.1,0.0004,0"},
		},
		"google2011 machines": {
			source: "google2011:DIR", file: "machine_events-part-00000-of-00001.csv",
			lines: []string{"0,5,0,HofL,0.5,0.2493", "700000000,6,0,HofL,0.5,0.2493"},
		},
		"google2019 instances": {
			source: "google2019:DIR", file: "instance_events-000000000000.json",
			lines: []string{
				`{"time":"0","type":"0","collection_id":"7","instance_index":"0","priority":"200","resource_request":{"cpus":0.125,"memory":0.0625}}`,
				`{"time":"9","type":"7","collection_id":"7","instance_index":"0"}`,
			},
		},
		"google2019 machines": {
			source: "google2019:DIR", file: "machine_events-000000000000.json",
			lines: []string{`{"time":"0","machine_id":"5","type":"1","capacity":{"cpus":0.5,"memory":0.25}}`, `{"time":"9","machine_id":"6","type":"1"}`},
		},
		"alibaba2018 machines": {
			source: "alibaba2018:DIR", file: "machine_meta.csv",
			lines: []string{"m_1,0,1,2,96,100,USING", "m_2,0,1,3,96,100,USING"},
		},
		"alibaba2018 batch": {
			source: "alibaba2018:DIR", file: "batch_task.csv",
			lines: []string{"M1,2,j_1,1,Terminated,10,20,100,0.5", "R2_1,1,j_1,1,Terminated,20,30,50,0.25"},
		},
		"alibaba2018 containers": {
			source: "alibaba2018:DIR", file: "container_meta.csv",
			lines: []string{"c_1,m_1,0,app_1,started,400,400,1.56", "c_2,m_1,5,app_1,started,400,400,1.56"},
		},
	}
}

type sample struct {
	source string // with FILE or DIR in it
	file   string // of a folder
	header string
	lines  []string
	// whole is what is said of zeros in a format that has no lines. What is not of
	// that format then ends the reading even if it is lenient.
	whole string
}

// place puts data where the sample's file belongs, the other file of a folder
// beside it, and returns the SRC.
func (s sample) place(t *testing.T, data []byte) string {
	t.Helper()
	dir := t.TempDir()
	for _, other := range samples() {
		if s.file != "" && other.source == s.source {
			write(t, filepath.Join(dir, other.file), []byte(other.header+strings.Join(other.lines, "\n")+"\n"))
		}
	}
	file, table := filepath.Join(dir, "input"), filepath.Join(dir, "table")
	if s.file != "" {
		file = filepath.Join(dir, s.file)
	}
	write(t, file, data)
	write(t, table, []byte(`{"v100": {"('A3C', 1)": {"null": 8}}}`)) // of throughputs
	return strings.NewReplacer("FILE", file, "DIR", dir, "TABLE", table).Replace(s.source)
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// readSource reads a SRC to its end and returns how many records there were.
func readSource(text string, lenient bool) (records int, src Opened, err error) {
	spec, err := ParseURL(text)
	if err != nil {
		return 0, src, err
	}
	if src, err = spec.Open(1, lenient); err != nil {
		return 0, src, err
	}
	var r trace.Record
	last := cluster.Time(0)
	for {
		if err = src.Next(&r); err != nil {
			break
		}
		if r.Time < last {
			return records, src, fmt.Errorf("a record at %v after one at %v", r.Time, last)
		}
		last = r.Time
		records++
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return records, src, errors.Join(err, src.Close())
}

// packed is the data in gzip.
func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBadFiles gives each reader what is no file of its format at all. It must
// say so, naming the file and, but for what is about all of it, the line; never
// crash, and never give records as if all were well. Where nothing can be read,
// a lenient reader says the same.
func TestBadFiles(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	binary := make([]byte, 100_000)
	for i := range binary {
		binary[i] = byte(chance.Uint32())
	}
	for name, s := range samples() {
		whole := []byte(s.header + strings.Join(s.lines, "\n") + "\n")
		if records, _, err := readSource(s.place(t, whole), false); err != nil || records < 2 {
			t.Fatalf("%s: the sample itself: %d records, %v", name, records, err)
		}
		zipped := packed(t, whole)
		for about, data := range map[string][]byte{
			"empty":               {},
			"header alone":        []byte(s.header),
			"only blank lines":    []byte("\n \n\n"),
			"binary":              binary,
			"binary below header": append([]byte(s.header), binary...),
			"gzip cut short":      zipped[:len(zipped)-3], // after all lines
			"gzip of a few bytes": zipped[:3],
			"gzip damaged":        append(bytes.Clone(zipped[:len(zipped)/2]), binary[:2000]...),
			"HTML":                []byte("<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n"),
		} {
			_, _, err := readSource(s.place(t, data), false)
			var broken *trace.Error
			switch {
			case err == nil:
				t.Errorf("%s, %s: no error", name, about)
			case !errors.As(err, &broken) || broken.Want == "":
				t.Errorf("%s, %s: the error does not say what was wanted: %v", name, about, err)
			case broken.Line == 0 && s.whole == "":
				t.Errorf("%s, %s: the error names no line: %v", name, about, err)
			}
			switch {
			case strings.HasPrefix(about, "gzip") && s.whole == "": // lines before the damage can be read
				continue
			case strings.Contains(s.file, "-part-"): // the other parts of the folder can be read
				continue
			}
			if _, _, err := readSource(s.place(t, data), true); !errors.As(err, &broken) {
				t.Errorf("%s, %s, lenient: %v; want an error", name, about, err)
			}
		}
	}
}

// TestEndlessLine gives each reader a line of 32 MB, which it must refuse without
// holding it in memory.
func TestEndlessLine(t *testing.T) {
	for name, s := range samples() {
		src := s.place(t, []byte(s.header+s.lines[0]+"\n"))
		file, _, _ := strings.Cut(src[strings.Index(src, "/"):], "?")
		if s.file != "" {
			file = filepath.Join(file, s.file)
		}
		begun, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, begun.Size()+1<<25); err != nil { // the hole reads as zeros
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err = readSource(src, false)
		runtime.ReadMemStats(&after)
		if want := cmp.Or(s.whole, "want a line of at most 262144 bytes"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: took %d bytes of memory", name, used)
		}
		if _, Opened, err := readSource(src, true); (err != nil) != (s.whole != "") || err == nil && len(Opened.Notes()) == 0 {
			t.Errorf("%s, lenient: %v", name, err)
		}
	}
}
