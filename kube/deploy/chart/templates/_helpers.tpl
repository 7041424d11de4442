{{/* Labels of every object. */}}
{{- define "fairlead.labels" -}}
app.kubernetes.io/name: {{ .Values.name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* What selects pods. */}}
{{- define "fairlead.selector" -}}
app.kubernetes.io/name: {{ .Values.name | quote }}
{{- end }}

{{- define "fairlead.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* The SchedulerConfiguration: what the values say, under the lease that the role allows. */}}
{{- define "fairlead.config" -}}
{{- range .Values.config.profiles }}
{{- if ne (eq $.Values.mode "shadow") (eq (.mode | default "") "shadow") }}
{{- fail (printf "mode is %s, and a profile of config is not: for a shadow each profile says mode: shadow, and else none (shadow.values.yaml is a beginning)" $.Values.mode) }}
{{- end }}
{{- if and (eq $.Values.mode "optIn") (eq (.schedulerName | default "") "default-scheduler") }}
{{- fail "a profile of config is default-scheduler: who takes kube-scheduler's place does so as docs/switch.md says, and not by this chart" }}
{{- end }}
{{- end }}
{{- $lease := dict "resourceName" .Values.name "resourceNamespace" .Release.Namespace -}}
{{- $own := dict "apiVersion" "fairlead.dev/v1alpha1" "kind" "SchedulerConfiguration" "leaderElection" $lease -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $own) }}
{{- end }}
