package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"text/template"
)

// This file writes a sweep for engines that run shards on many machines: an Indexed Job of Kubernetes, an array of
// Slurm. Neither knows what a shard is: both give each process an index, and start again what has ended badly, which is
// all that shards need.

// Manifest is what is asked of an engine. What is empty is left to it.
type Manifest struct {
	Name    string // of the job
	Shards  int
	AtOnce  int    // how many shards run at the same time; 0: all
	CPU     string // of a shard, such as 2
	Memory  string // such as 4Gi
	Dir     string // where results are kept: a path, or a URL of a store
	Image   string // that runs fairlead
	Command string // the program in the image, where it is not what the image runs by itself
	Claim   string // a PersistentVolumeClaim, on which results are kept, and files that the sweep names are sought
	Host    string // a folder of the node in its place
	Secret  string // whose keys are variables of the environment, such as those of a bucket
	Time    string // that a shard may take, as Slurm has it
}

// workDir is where shards run in a pod: the claim, the folder of the node, or nothing that stays.
const workDir = "/work"

// Job writes an Indexed Job that does the sweep, and the ConfigMap that holds it.
func (m *Manifest) Job(to io.Writer, s *Sweep) error {
	if err := errors.Join(m.check(), m.checkJob(s)); err != nil {
		return err
	}
	dir := m.Dir
	if dir == "" {
		dir = path.Join(workDir, m.Name)
	}
	return fill(to, jobTemplate, map[string]any{
		"M": m, "Dir": dir, "Work": workDir, "Text": strings.TrimRight(string(s.Text()), "\n"),
	})
}

// Slurm writes a script for sbatch that does the sweep in the file, an array with a task for each shard.
func (m *Manifest) Slurm(to io.Writer, file string) error {
	if err := m.check(); err != nil {
		return err
	}
	for _, text := range []string{file, m.Dir, m.Time, m.Command} {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
			return fmt.Errorf("%q has what no line of a script can", text)
		}
	}
	if m.Dir == "" {
		return errors.New("want a folder that all machines share")
	}
	return fill(to, slurmTemplate, map[string]any{"M": m, "File": file})
}

// check says what is wrong with what all engines are asked.
func (m *Manifest) check() error {
	var errs []error
	if !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$`).MatchString(m.Name) {
		errs = append(errs, fmt.Errorf("the name %q, want small letters, digits and -, at most 53", m.Name))
	}
	errs = append(errs, Shard{0, m.Shards}.Check())
	if m.AtOnce < 0 {
		errs = append(errs, fmt.Errorf("%d shards at once, want a number from 1", m.AtOnce))
	}
	if !regexp.MustCompile(`^([1-9][0-9]{0,3})?$`).MatchString(m.CPU) {
		errs = append(errs, fmt.Errorf("CPU %q, want a whole number of cores, as a run takes one", m.CPU))
	}
	if !regexp.MustCompile(`^([1-9][0-9]*(Ki|Mi|Gi|Ti))?$`).MatchString(m.Memory) {
		errs = append(errs, fmt.Errorf("memory %q, want such as 4Gi", m.Memory))
	}
	return errors.Join(errs...)
}

// mostText is how long the text of a ConfigMap may be, about.
const mostText = 1_000_000

// checkJob says what is wrong with what Kubernetes alone is asked.
func (m *Manifest) checkJob(s *Sweep) error {
	isName := regexp.MustCompile(`^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$`)
	var errs []error
	for _, of := range []struct{ what, name string }{{"claim", m.Claim}, {"secret", m.Secret}} {
		if !isName.MatchString(of.name) {
			errs = append(errs, fmt.Errorf("the %s %q is no name of an object", of.what, of.name))
		}
	}
	url := strings.Contains(m.Dir, "://")
	switch {
	case m.Image == "":
		errs = append(errs, errors.New("want an image that runs fairlead"))
	case m.Claim != "" && m.Host != "":
		errs = append(errs, errors.New("a claim and a folder of the node; want one of them"))
	case m.Claim == "" && m.Host == "" && !url:
		errs = append(errs, errors.New("want a claim, a folder of the node or a bucket: what a pod keeps for itself goes with it"))
	case m.Dir != "" && !url && !path.IsAbs(m.Dir):
		errs = append(errs, fmt.Errorf("%s, want a path within %s, as pods have it, or a bucket", m.Dir, workDir))
	case m.Dir != "" && !url && !strings.HasPrefix(path.Clean(m.Dir)+"/", workDir+"/"):
		errs = append(errs, fmt.Errorf("%s, want a path within %s, which is what stays of a pod", m.Dir, workDir))
	}
	if m.Host != "" && !path.IsAbs(m.Host) {
		errs = append(errs, fmt.Errorf("the folder of the node %s, want a path from the root", m.Host))
	}
	if len(s.Text()) > mostText {
		errs = append(errs, fmt.Errorf("the sweep is %d bytes long, and a ConfigMap holds %d", len(s.Text()), mostText))
	}
	return errors.Join(errs...)
}

// fill fills in a template.
func fill(to io.Writer, text string, with any) error {
	t, err := template.New("manifest").Funcs(template.FuncMap{
		"quote":  quote,
		"shell":  func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"indent": func(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") },
		"last":   func(shards int) int { return shards - 1 },
	}).Parse(text)
	if err != nil {
		return err
	}
	return t.Execute(to, with)
}

// quote is a text in the quotes of JSON, which YAML has, too.
func quote(text string) (string, error) {
	quoted, err := json.Marshal(text)
	return string(quoted), err
}

// A pod that fails counts against its index alone, and begins where its predecessor was killed.
const jobTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{quote .M.Name}}
data:
  sweep.yaml: |
    {{indent .Text}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{quote .M.Name}}
  labels: {app.kubernetes.io/name: {{quote .M.Name}}}
spec:
  completionMode: Indexed
  completions: {{.M.Shards}}
  parallelism: {{if .M.AtOnce}}{{.M.AtOnce}}{{else}}{{.M.Shards}}{{end}}
  # A pod that fails or is evicted counts against its index alone; the next one goes on where it was.
  backoffLimitPerIndex: 6
  template:
    metadata:
      labels: {app.kubernetes.io/name: {{quote .M.Name}}}
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: sweep
        image: {{quote .M.Image}}
{{- if .M.Command}}
        command: [{{quote .M.Command}}]
{{- end}}
        args: [sweep, /etc/sweep/sweep.yaml, --shards={{.M.Shards}}, {{quote (print "--dir=" .Dir)}}]
        workingDir: {{.Work}}
        env:
        - {name: HOME, value: /tmp}
{{- if .M.Secret}}
        envFrom:
        - secretRef: {name: {{quote .M.Secret}}}
{{- end}}
{{- if or .M.CPU .M.Memory}}
        # As many runs at a time as there are cores.
        resources:
          requests: { {{- if .M.CPU}}cpu: "{{.M.CPU}}"{{end}}{{if and .M.CPU .M.Memory}}, {{end}}{{if .M.Memory}}memory: {{.M.Memory}}{{end -}} }
          limits: { {{- if .M.CPU}}cpu: "{{.M.CPU}}"{{end}}{{if and .M.CPU .M.Memory}}, {{end}}{{if .M.Memory}}memory: {{.M.Memory}}{{end -}} }
{{- end}}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        volumeMounts:
        - {name: sweep, mountPath: /etc/sweep, readOnly: true}
        - {name: work, mountPath: {{.Work}}}
        - {name: tmp, mountPath: /tmp}
      volumes:
      - name: sweep
        configMap: {name: {{quote .M.Name}}}
      - name: work
{{- if .M.Claim}}
        persistentVolumeClaim: {claimName: {{quote .M.Claim}}}
{{- else if .M.Host}}
        hostPath: {path: {{quote .M.Host}}, type: Directory}
{{- else}}
        emptyDir: {}
{{- end}}
      - name: tmp
        emptyDir: {}
`

// Slurm gives each task of an array its index, and requeues one that was preempted.
const slurmTemplate = `#!/bin/bash
#SBATCH --job-name={{.M.Name}}
#SBATCH --array=0-{{last .M.Shards}}{{if .M.AtOnce}}%{{.M.AtOnce}}{{end}}
#SBATCH --cpus-per-task={{if .M.CPU}}{{.M.CPU}}{{else}}1{{end}}
{{- if .M.Memory}}
#SBATCH --mem={{slice .M.Memory 0 (last (len .M.Memory))}}
{{- end}}
{{- if .M.Time}}
#SBATCH --time={{.M.Time}}
{{- end}}
#SBATCH --output={{.M.Name}}-%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
# A task that was killed, or has run out of time, goes on where it was when it is submitted again.
exec {{if .M.Command}}{{shell .M.Command}}{{else}}fairlead{{end}} sweep {{shell .File}} --shards {{.M.Shards}} --dir {{shell .M.Dir}} --parallel "${SLURM_CPUS_PER_TASK:-1}"
`
