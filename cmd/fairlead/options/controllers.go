// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/cron"
	"github.com/fairlead-dev/fairlead/internal/outbound"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// ExternalServices configures how what is outside the cluster is looked up and checked.
type ExternalServices struct {
	// Nameservers for names outside the cluster, as address or address:port. Empty: those of /etc/resolv.conf, which is read
	// again when it changes. Search lists never apply.
	Nameservers []string `json:"nameservers,omitempty"`

	// DNS domain of the cluster; names that lead into it are refused.
	ClusterDomain string `json:"clusterDomain,omitempty" default:"cluster.local" rule:"subdomain"`

	// Names looked up at once.
	ResolveWorkers int `json:"resolveWorkers,omitempty" default:"64" rule:"1..4096"`

	// Health checks that run at once; one namespace takes at most half of them. A check that hangs holds its place for its
	// timeout.
	ProbeWorkers int `json:"probeWorkers,omitempty" default:"1024" rule:"2..65536"`

	// How long endpoints are marked as terminating before the Service of a deleted ExternalService is deleted. 0s does not
	// wait.
	DrainPeriod metav1.Duration `json:"drainPeriod,omitempty" default:"5s" rule:"0s..1h"`
}

// NameserverAddresses are the nameservers with their ports; nil where none is configured.
func (e ExternalServices) NameserverAddresses() ([]netip.AddrPort, error) {
	var servers []netip.AddrPort
	for _, text := range e.Nameservers {
		server, err := netip.ParseAddrPort(text)
		if err != nil {
			var address netip.Addr
			if address, err = netip.ParseAddr(strings.Trim(text, "[]")); err != nil {
				return nil, err
			}
			server = netip.AddrPortFrom(address, 53)
		}
		servers = append(servers, server)
	}
	return servers, nil
}

func (e ExternalServices) validate(path *field.Path) field.ErrorList {
	errs := checkRules(path, e)
	for i, text := range e.Nameservers {
		if _, err := (ExternalServices{Nameservers: []string{text}}).NameserverAddresses(); err != nil {
			errs = append(errs, field.Invalid(path.Child("nameservers").Index(i), text, "must be an IP address, or address:port"))
		}
	}
	return errs
}

const (
	// SourcesWatch watches the metadata of all ConfigMaps and Secrets, which needs the right to list
	// them, and reads those that a policy refers to.
	SourcesWatch = "Watch"
	// SourcesPoll reads the same ones at an interval, with the right to get each, and lists none.
	SourcesPoll = "Poll"
)

// RebootPolicies configures how workloads are restarted.
type RebootPolicies struct {
	// Workloads of the whole cluster that restart or lose a pod at once. A namespace may have as many.
	MaxRestarts int `json:"maxRestarts,omitempty" default:"10" rule:"1..1000"`

	// How long a restart or kill counts for `maxRestarts` at least. Of those that last longer, a quarter of `maxRestarts` is
	// counted for each namespace, and none after an hour, so that what cannot end holds up no other namespace.
	SlotTimeout metav1.Duration `json:"slotTimeout,omitempty" default:"2m" rule:"1s..1h"`

	// How changes of ConfigMaps and Secrets are noticed. The shipped file has `Poll`. Watch watches their metadata, which needs
	// the right to list them. Poll reads those that policies refer to, with the right to get each.
	Sources string `json:"sources,omitempty" default:"Watch" rule:"Watch|Poll"`

	// Least time between two reads of a source under Poll. With more sources it grows to what 20 reads a second take, at most 5m.
	SourcesPollInterval metav1.Duration `json:"sourcesPollInterval,omitempty" default:"30s" rule:"1s..1h"`

	Prometheus Prometheus `json:"prometheus,omitempty"`

	// Kinds of workloads of other projects that may be targets, and CronJob and Job of group batch, at most 8. The operator needs
	// the right to get, list, watch and patch each, and those to create and delete Jobs, which the chart grants. See
	// docs/guides/restart-workloads.md.
	Workloads []Workload `json:"workloads,omitempty"`

	// Checks of Probe triggers that run at once; one namespace takes at most half of them.
	ProbeWorkers int `json:"probeWorkers,omitempty" default:"256" rule:"2..65536"`

	// Secret of the operator's namespace with the key of the fingerprints. It is made where there is none.
	FingerprintSecret string `json:"fingerprintSecret,omitempty" default:"fairlead-fingerprint-key" rule:"label"`
}

// Workload is a kind of workloads that is restarted by its pod template, and read by the conventions of Deployments. For
// CronJob and Job, a restart creates a Job.
type Workload struct {
	// API group, such as `apps.kruise.io`, or `batch`. Not `apps` or `argoproj.io`, and not that of Pods.
	Group string `json:"group"`

	// Kind, such as `CloneSet`. Its resource must be the kind in lower case with an s. With a dot and the group it has at most 63
	// characters.
	Kind string `json:"kind"`

	// Version that is read and written, such as `v1alpha1`.
	Version string `json:"version"`

	// Path of the pod template: at most 8 names of fields with dots between them. The first name is `spec`.
	PodTemplatePath string `json:"podTemplatePath,omitempty" default:"spec.template"`
}

// batchTemplates are the paths of the pod templates of the kinds of group batch that can be targets.
var batchTemplates = map[string]string{"CronJob": "spec.jobTemplate.spec.template", "Job": "spec.template"}

// Kinds returns the kinds of workloads that may be targets besides those of apps and of Argo Rollouts.
func (r RebootPolicies) Kinds() []workloadkinds.Kind {
	var all []workloadkinds.Kind
	for _, w := range r.Workloads {
		template := cmp.Or(w.PodTemplatePath, "spec.template")
		if w.Group == common.BatchGroup {
			template = batchTemplates[w.Kind]
		}
		all = append(all, workloadkinds.Kind{
			GroupVersionKind: schema.GroupVersionKind{Group: w.Group, Version: w.Version, Kind: w.Kind}, Template: strings.Split(template, "."),
		})
	}
	return all
}

// maxWorkloads is how many kinds of other projects there may be, each with an informer, and maxTemplateNames how many names the
// path of a pod template may have.
const maxWorkloads, maxTemplateNames = 8, 8

var (
	kindName  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	// irregular are kinds whose resource has another end than an s.
	irregular = regexp.MustCompile(`(s|x|y|ch|sh)$`)
)

func validateWorkloads(path *field.Path, all []Workload) field.ErrorList {
	var errs field.ErrorList
	if len(all) > maxWorkloads {
		return field.ErrorList{field.TooMany(path, len(all), maxWorkloads)}
	}
	seen := map[common.WorkloadKind]bool{}
	for i, w := range all {
		at := path.Index(i)
		kind := common.KindOfGroup(w.Group, common.WorkloadKind(w.Kind))
		switch w.Group {
		case "":
			errs = append(errs, field.Invalid(at.Child("group"), w.Group, "kinds of the core group are not restarted: name that of another project, such as apps.kruise.io, or batch"))
		case common.BatchGroup:
			if batchTemplates[w.Kind] == "" || w.Version != "v1" {
				errs = append(errs, field.Invalid(at.Child("kind"), w.Kind, "of group batch CronJob and Job can be targets, at version v1"))
			}
			path := cmp.Or(w.PodTemplatePath, batchTemplates[w.Kind], "spec.template")
			if path != batchTemplates[w.Kind] && path != "spec.template" {
				errs = append(errs, field.Invalid(at.Child("podTemplatePath"), path, "that of CronJobs and Jobs is known: leave it out"))
			}
		case common.AppsGroup, common.RolloutsGroup:
			errs = append(errs, field.Invalid(at.Child("group"), w.Group, "targets of this group need no configuration: leave the item out"))
		default:
			errs = append(errs, subdomain(at.Child("group"), w.Group)...)
		}
		switch {
		case !kindName.MatchString(w.Kind):
			errs = append(errs, field.Invalid(at.Child("kind"), w.Kind, "must be the name of a kind, such as CloneSet"))
		case irregular.MatchString(w.Kind):
			errs = append(errs, field.Invalid(at.Child("kind"), w.Kind, "only a kind whose resource is its name in lower case with an s can be restarted"))
		case len(kind) > maxKind:
			errs = append(errs, field.Invalid(at.Child("kind"), w.Kind, fmt.Sprintf("has more than %d characters with its group, %s, which the status of a policy has no room for", maxKind, kind)))
		case seen[kind]:
			errs = append(errs, field.Duplicate(at.Child("kind"), kind))
		}
		seen[kind] = true
		errs = append(errs, label(at.Child("version"), w.Version)...)
		if names := strings.Split(w.PodTemplatePath, "."); w.PodTemplatePath != "" && (len(names) > maxTemplateNames || names[0] != "spec" ||
			slices.ContainsFunc(names, func(name string) bool { return !fieldName.MatchString(name) })) {
			errs = append(errs, field.Invalid(at.Child("podTemplatePath"), w.PodTemplatePath,
				fmt.Sprintf("must be at most %d names of fields with dots between them, beginning with spec, such as spec.template", maxTemplateNames)))
		}
	}
	return errs
}

// maxKind is the length of a kind in the status of a RebootPolicy.
const maxKind = 63

// Prometheus is a server that gates of type PrometheusQueryEmpty ask, by the HTTP API of Prometheus.
type Prometheus struct {
	// URL without `/api/v1/query`, such as `https://prometheus.monitoring.svc:9090`. Each query has its parameters, such as
	// `?deny_partial_response=1`. The egress policy does not limit it, and no redirect is followed. Empty: none, and such gates are
	// closed.
	URL string `json:"url" default:""`

	// File with the certificates to trust, in PEM. Empty: those of the system.
	CAFile string `json:"caFile" default:""`

	// File with the bearer token to send. Empty: none.
	BearerTokenFile string `json:"bearerTokenFile" default:""`

	// Parameter of the URL that has the namespace of the policy, such as `namespace` for prom-label-proxy, which returns
	// the metrics of that namespace alone. Empty: none, and who may write a RebootPolicy can ask for all metrics.
	NamespaceParameter string `json:"namespaceParameter" default:""`
}

// Endpoint of the server.
func (p Prometheus) Endpoint() outbound.Endpoint {
	return outbound.Endpoint{URL: p.URL, CAFile: p.CAFile, BearerTokenFile: p.BearerTokenFile}
}

// Notifications configures where the Events of the operator are sent, as CloudEvents over HTTP.
type Notifications struct {
	// URL that takes POSTs of CloudEvents in the structured mode, such as `https://events.example.com/fairlead`. The egress policy
	// does not limit it, and no redirect is followed. Empty: nothing is sent.
	URL string `json:"url" default:""`

	// File with the certificates to trust, in PEM. Empty: those of the system.
	CAFile string `json:"caFile" default:""`

	// File with the bearer token to send. Empty: none.
	BearerTokenFile string `json:"bearerTokenFile" default:""`

	// Attribute `source` of the CloudEvents, a URI reference: name the cluster where several send to one receiver.
	Source string `json:"source" default:"/fairlead"`

	// Types of the Events that are sent.
	Types []string `json:"types,omitempty" default:"Normal,Warning"`

	// Reasons of the Events that are sent, such as RestartFailed; see docs/reference/conditions.md. Empty: all.
	Reasons []string `json:"reasons,omitempty"`
}

// Endpoint of the receiver.
func (n Notifications) Endpoint() outbound.Endpoint {
	return outbound.Endpoint{URL: n.URL, CAFile: n.CAFile, BearerTokenFile: n.BearerTokenFile}
}

func (n Notifications) validate(path *field.Path) field.ErrorList {
	errs := validateEndpoint(path, n.Endpoint(), true)
	if source, err := url.Parse(n.Source); err != nil || n.Source == "" {
		errs = append(errs, field.Invalid(path.Child("source"), n.Source, "must be a URI reference, such as /clusters/shop"))
	} else if source.User != nil {
		errs = append(errs, field.Invalid(path.Child("source"), source.Redacted(), "must have no password: it is in each event"))
	}
	types := []string{corev1.EventTypeNormal, corev1.EventTypeWarning}
	for i, text := range n.Types {
		if !slices.Contains(types, text) {
			errs = append(errs, field.NotSupported(path.Child("types").Index(i), text, types))
		}
	}
	return errs
}

// validateEndpoint checks the URL of a server that the administrator names. Where it is a hook it may have a query, and a secret, which
// no error has.
func validateEndpoint(path *field.Path, e outbound.Endpoint, isHook bool) field.ErrorList {
	at, err := url.Parse(e.URL)
	path = path.Child("url")
	var shown any = e.URL
	if isHook || err == nil && at.RawQuery != "" { // which may have a password
		shown = field.OmitValueType{}
	}
	switch {
	case e.URL == "":
		return nil
	case err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || at.Fragment != "":
		return field.ErrorList{field.Invalid(path, shown, "must be a URL such as https://example.com:9090")}
	case at.User != nil:
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must have no password: set bearerTokenFile")}
	case at.Scheme == "http" && e.BearerTokenFile != "":
		return field.ErrorList{field.Invalid(path, shown, "must begin with https:// where a token is sent")}
	}
	return nil
}

// ChaosPods configures how pods are killed.
type ChaosPods struct {
	// Make the pods of ChaosPods with a template, which takes the right to create pods. False: such a ChaosPod is accepted, and
	// its condition Ready is False with reason Forbidden.
	Canaries bool `json:"canaries" default:"true"`
}

// Calendar configures when nothing is disrupted in the whole cluster: no restart begins, and no chaos.
type Calendar struct {
	// Blackouts of the whole cluster, at most 100: no restart begins in them. Each has a `name` and either `start` and `end` in
	// RFC 3339, or `cron`, `duration` and `timeZone`. See docs/guides/restart-timing.md.
	Blackouts []cron.Blackout `json:"blackouts,omitempty"`

	// ConfigMap of the operator's namespace that adds blackouts, at most 100, as a list under the key `blackouts`. It is
	// followed, and need not exist. Empty: none.
	ConfigMap string `json:"configMap" default:"fairlead-calendar" rule:"subdomain,optional"`
}

func (c Calendar) validate(path *field.Path) field.ErrorList {
	errs := checkRules(path, c)
	if _, err := cron.NewBlackouts(c.Blackouts); err != nil {
		errs = append(errs, field.Invalid(path.Child("blackouts"), len(c.Blackouts), err.Error()))
	}
	return errs
}
