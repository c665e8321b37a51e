// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/cron"
)

func duration(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }

func TestEveryRuleRefusesWithThePathOfTheField(t *testing.T) {
	for path, change := range map[string]func(*Configuration){
		"externalServices.nameservers[1]":    func(c *Configuration) { c.ExternalServices.Nameservers = []string{"192.0.2.1", "dns.example.com"} },
		"externalServices.clusterDomain":     func(c *Configuration) { c.ExternalServices.ClusterDomain = "Cluster.Local" },
		"externalServices.resolveWorkers":    func(c *Configuration) { c.ExternalServices.ResolveWorkers = 0 },
		"externalServices.probeWorkers":      func(c *Configuration) { c.ExternalServices.ProbeWorkers = 1 },
		"externalServices.drainPeriod":       func(c *Configuration) { c.ExternalServices.DrainPeriod = duration(-time.Second) },
		"rebootPolicies.maxRestarts":         func(c *Configuration) { c.RebootPolicies.MaxRestarts = 0 },
		"rebootPolicies.sources":             func(c *Configuration) { c.RebootPolicies.Sources = "List" },
		"rebootPolicies.sourcesPollInterval": func(c *Configuration) { c.RebootPolicies.SourcesPollInterval = duration(time.Millisecond) },
		"rebootPolicies.slotTimeout":         func(c *Configuration) { c.RebootPolicies.SlotTimeout = duration(time.Millisecond) },
		"rebootPolicies.probeWorkers":        func(c *Configuration) { c.RebootPolicies.ProbeWorkers = 1 },
		"rebootPolicies.fingerprintSecret":   func(c *Configuration) { c.RebootPolicies.FingerprintSecret = "No" },
		"rebootPolicies.prometheus.url: Invalid value: \"prometheus:9090\": must be a URL": func(c *Configuration) { c.RebootPolicies.Prometheus.URL = "prometheus:9090" },
		"rebootPolicies.prometheus.url: Invalid value: must have no password":              func(c *Configuration) { c.RebootPolicies.Prometheus.URL = "https://a:b@192.0.2.1?x=y" },
		"must have no password: set bearerTokenFile":                                       func(c *Configuration) { c.RebootPolicies.Prometheus.URL = "https://a:b@192.0.2.1" },
		"notifications.url: Invalid value: must be a URL":                                  func(c *Configuration) { c.Notifications.URL = "hooks.example.com/s3cret" },
		"notifications.source: Invalid value: \"\": must be":                               func(c *Configuration) { c.Notifications.Source = "" },
		"tracing.endpoint: Invalid value: \"http://collector\"":                            func(c *Configuration) { c.Tracing.Endpoint = "http://collector" },
		"tracing.samplingRatePerMillion: Invalid value: 1000001":                           func(c *Configuration) { c.Tracing.SamplingRatePerMillion = 1_000_001 },
		"notifications.types[0]: Unsupported value: \"Error\"":                             func(c *Configuration) { c.Notifications.Types = []string{"Error"} },
		"must begin with https:// where a token is sent": func(c *Configuration) {
			c.RebootPolicies.Prometheus = Prometheus{URL: "http://192.0.2.1", BearerTokenFile: "/token"}
		},
		"rebootPolicies.workloads: Too many: 9: must have at most 8 items": func(c *Configuration) { c.RebootPolicies.Workloads = make([]Workload, 9) },
		"rebootPolicies.workloads[0].group: Invalid value: \"\": kinds of the core group are not restarted": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Kind: "Pod", Version: "v1"}}
		},
		"rebootPolicies.workloads[0].kind: Invalid value: \"Workflow\": of group batch CronJob and Job": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "batch", Kind: "Workflow", Version: "v1"}}
		},
		"rebootPolicies.workloads[0].podTemplatePath: Invalid value: \"spec.pods\": that of CronJobs": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "batch", Kind: "CronJob", Version: "v1", PodTemplatePath: "spec.pods"}}
		},
		"rebootPolicies.workloads[0].group: Invalid value: \"argoproj.io\": targets of this group need no configuration": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "argoproj.io", Kind: "Rollout", Version: "v1alpha1"}}
		},
		"rebootPolicies.workloads[0].group: Invalid value: \"apps\": targets of this group": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "apps", Kind: "Deployment", Version: "v1"}}
		},
		"rebootPolicies.workloads[0].group: Invalid value: \"A_B\"": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "A_B", Kind: "CloneSet", Version: "v1"}}
		},
		"rebootPolicies.workloads[0].kind: Invalid value: \"clonesets\": must be the name of a kind": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "apps.kruise.io", Kind: "clonesets", Version: "v1alpha1"}}
		},
		"rebootPolicies.workloads[0].kind: Invalid value: \"Proxy\": only a kind whose resource": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "example.com", Kind: "Proxy", Version: "v1"}}
		},
		"rebootPolicies.workloads[0].kind: Invalid value: \"Mesh\": only a kind whose resource": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "example.com", Kind: "Mesh", Version: "v1"}}
		},
		"has more than 63 characters with its group": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: strings.Repeat("g", 60), Kind: "Set", Version: "v1"}}
		},
		"rebootPolicies.workloads[1].kind: Duplicate value: \"CloneSet.apps.kruise.io\"": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "apps.kruise.io", Kind: "CloneSet", Version: "v1alpha1"}, {Group: "apps.kruise.io", Kind: "CloneSet", Version: "v1"}}
		},
		"rebootPolicies.workloads[0].version": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "apps.kruise.io", Kind: "CloneSet"}}
		},
		"rebootPolicies.workloads[0].podTemplatePath: Invalid value: \"{.spec.template}\": must be at most 8 names of fields": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "apps.kruise.io", Kind: "CloneSet", Version: "v1alpha1", PodTemplatePath: "{.spec.template}"}}
		},
		"podTemplatePath: Invalid value: \"spec.a.b.c.d.e.f.g.template\"": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "apps.kruise.io", Kind: "CloneSet", Version: "v1alpha1", PodTemplatePath: "spec.a.b.c.d.e.f.g.template"}}
		},
		"podTemplatePath: Invalid value: \"metadata.template\"": func(c *Configuration) {
			c.RebootPolicies.Workloads = []Workload{{Group: "apps.kruise.io", Kind: "CloneSet", Version: "v1alpha1", PodTemplatePath: "metadata.template"}}
		},
		"calendar.blackouts": func(c *Configuration) {
			c.Calendar.Blackouts = []cron.Blackout{{Name: "year-end"}}
		},
		"calendar.configMap":                  func(c *Configuration) { c.Calendar.ConfigMap = "A" },
		"clientConnection.qps":                func(c *Configuration) { c.ClientConnection.QPS = 0 },
		"-1 means no limit":                   func(c *Configuration) { c.ClientConnection.QPS = -5 },
		"clientConnection.burst: Invalid":     func(c *Configuration) { c.ClientConnection.Burst = -1 },
		"clientConnection.burst":              func(c *Configuration) { c.ClientConnection.QPS, c.ClientConnection.Burst = 50, 0 },
		"clientConnection.startTimeout":       func(c *Configuration) { c.ClientConnection.StartTimeout = duration(0) },
		"service.name":                        func(c *Configuration) { c.Service.Name = "" },
		"service.namespace":                   func(c *Configuration) { c.Service.Namespace = "A_B" },
		"namespaces[1]":                       func(c *Configuration) { c.Namespaces = []string{"a", "a"} },
		"namespaces[0]":                       func(c *Configuration) { c.Namespaces = []string{"-"} },
		"namespaces: Required value: cluster": func(c *Configuration) { c.ClusterAccess, c.Egress.ClusterCIDRs = false, []string{"10.0.0.0/8"} },
		"egress.clusterCIDRs: Required":       func(c *Configuration) { c.ClusterAccess, c.Namespaces = false, []string{"a"} },
		"leaderElection.mode: Invalid value: \"forLife\": clusterAccess": func(c *Configuration) {
			c.ClusterAccess, c.Namespaces, c.Egress.ClusterCIDRs, c.LeaderElection.Mode = false, []string{"a"}, []string{"10.0.0.0/8"}, ElectionForLife
		},
		"controllers.cacheSyncTimeout":      func(c *Configuration) { c.Controllers.CacheSyncTimeout = duration(-1) },
		"controllers.concurrency[Pod]":      func(c *Configuration) { c.Controllers.Concurrency["Pod"] = 1 },
		"controllers.concurrency[ChaosPod]": func(c *Configuration) { c.Controllers.Concurrency["ChaosPod"] = 0 },
		"webhook.port":                      func(c *Configuration) { c.Webhook.Port = -1 },
		"webhook.configurations: Required value: name the one of ChaosPod, which ends in -chaospod": func(c *Configuration) { c.Webhook.Configurations = c.Webhook.Configurations[:3] },
		"webhook.configurations[0]: Invalid value: \"all\": must end in a hyphen": func(c *Configuration) {
			c.Webhook.Configurations = append([]string{"all"}, c.Webhook.Configurations...)
		},
		"webhook.configurations[4]":              func(c *Configuration) { c.Webhook.Configurations = append(c.Webhook.Configurations, "b-chaospod") },
		"webhook.maxBodyBytes":                   func(c *Configuration) { c.Webhook.MaxBodyBytes = 1 },
		"webhook.drainDelay":                     func(c *Configuration) { c.Webhook.DrainDelay = duration(-1) },
		"webhook.drainTimeout":                   func(c *Configuration) { c.Webhook.DrainTimeout = duration(0) },
		"webhook.tls.minVersion":                 func(c *Configuration) { c.Webhook.TLS.MinVersion = "VersionTLS11" },
		"webhook.tls.cipherSuites":               func(c *Configuration) { c.Webhook.TLS.CipherSuites = []string{"TLS_AES_128_GCM_SHA256"} },
		"webhook.tls.cipherSuites[0]":            func(c *Configuration) { c.Webhook.TLS = TLS{"VersionTLS12", []string{"TLS_MADE_UP"}} },
		"webhook.certificates.source":            func(c *Configuration) { c.Webhook.Certificates.Source = "acme" },
		"webhook.certificates.folder":            func(c *Configuration) { c.Webhook.Certificates.Source = SourceFolder },
		"webhook.certificates.secretName":        func(c *Configuration) { c.Webhook.Certificates.SecretName = "" },
		"webhook.certificates.dnsNames[0]":       func(c *Configuration) { c.Webhook.Certificates.DNSNames = []string{"a b"} },
		"leaderElection.resourceName":            func(c *Configuration) { c.LeaderElection.ResourceName = "" },
		"leaderElection.resourceNamespace":       func(c *Configuration) { c.LeaderElection.ResourceNamespace = "A" },
		"leaderElection.retryPeriod":             func(c *Configuration) { c.LeaderElection.RetryPeriod = duration(0) },
		"greater than renewDeadline, 10s":        func(c *Configuration) { c.LeaderElection.LeaseDuration = duration(10 * time.Second) },
		"whole seconds":                          func(c *Configuration) { c.LeaderElection.LeaseDuration = duration(15500 * time.Millisecond) },
		"greater than 1.2 times retryPeriod, 9s": func(c *Configuration) { c.LeaderElection.RetryPeriod = duration(9 * time.Second) },
		"metrics.bindAddress":                    func(c *Configuration) { c.Metrics.BindAddress = "8443" },
		"metrics.certDir":                        func(c *Configuration) { c.Metrics.Secure, c.Metrics.CertDir = false, "/certs" },
		"health.bindAddress":                     func(c *Configuration) { c.Health.BindAddress = ":http" },
		"profiling.bindAddress":                  func(c *Configuration) { c.Profiling.BindAddress = ":6060" },
		"profiling.onMetrics":                    func(c *Configuration) { c.Profiling.OnMetrics, c.Metrics.BindAddress = true, Off },
		"logging.format":                         func(c *Configuration) { c.Logging.Format = "xml" },
		"logging.level":                          func(c *Configuration) { c.Logging.Level = "loud" },
		"logging.level: Invalid value: \"8\"":    func(c *Configuration) { c.Logging.Level = "8" }, // would log Secrets
		"webhook.enabled: Invalid value: false: controllers.enabled is false too": func(c *Configuration) { c.Webhook.Enabled, c.Controllers.Enabled = false, false },
		"webhook.drainDelay and webhook.drainTime":                                func(c *Configuration) { c.GracefulShutdownTimeout = duration(10 * time.Second) },
	} {
		t.Run(path, func(t *testing.T) {
			configuration := Default()
			change(configuration)
			errs := configuration.Validate()
			if len(errs) != 1 {
				t.Fatalf("%d errors, want 1: %v", len(errs), errs)
			}
			if !strings.Contains(errs[0].Error(), path) {
				t.Errorf("%q does not say %q", errs[0], path)
			}
		})
	}
}

func TestWhatIsUnusualButRightIsAccepted(t *testing.T) {
	for name, change := range map[string]func(*Configuration){
		"no limit":        func(c *Configuration) { c.ClientConnection.QPS, c.ClientConnection.Burst = -1, 0 },
		"servers off":     func(c *Configuration) { c.Metrics.BindAddress, c.Health.BindAddress = Off, Off },
		"loopback pprof":  func(c *Configuration) { c.Profiling.BindAddress = "[::1]:6060" },
		"localhost pprof": func(c *Configuration) { c.Profiling.BindAddress = "localhost:0" },
		"address as name": func(c *Configuration) { c.Webhook.Certificates.DNSNames = []string{"127.0.0.1", "a.example"} },
		"TLS 1.2 suites": func(c *Configuration) {
			c.Webhook.TLS = TLS{"VersionTLS12", []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}}
		},
		"much detail":  func(c *Configuration) { c.Logging.Level = "6" },
		"errors only":  func(c *Configuration) { c.Logging.Level = "error" },
		"election off": func(c *Configuration) { c.LeaderElection = LeaderElection{} },
		// One file may serve both kinds of replicas, and says things that only one of them needs.
		"only reconciling: no drain to wait for": func(c *Configuration) {
			c.Webhook.Enabled, c.GracefulShutdownTimeout = false, duration(10*time.Second)
		},
		"only reconciling: certificates of others": func(c *Configuration) {
			c.Webhook.Enabled, c.Webhook.Certificates.Source = false, SourceFolder
		},
		"only serving: an election of others": func(c *Configuration) {
			c.Controllers.Enabled, c.LeaderElection.LeaseDuration = false, duration(time.Second)
		},
		"no drain at all":  func(c *Configuration) { c.Webhook.DrainDelay = duration(0) },
		"port by the host": func(c *Configuration) { c.Webhook.Port = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			configuration := Default()
			change(configuration)
			if errs := configuration.Validate(); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
}

// The metrics server of a replica without webhooks negotiates by the same bounds.
func TestTheBoundsOfTLSHoldWithoutWebhooks(t *testing.T) {
	c := Default()
	c.Webhook.Enabled, c.Webhook.TLS.MinVersion = false, "VersionTLS11"
	if errs := c.Validate(); len(errs) != 1 || errs[0].Field != "webhook.tls.minVersion" {
		t.Errorf("errors %v", errs)
	}
}

func TestNameserversHaveAPortOrGetOne(t *testing.T) {
	got, err := ExternalServices{Nameservers: []string{"192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]:5353"}}.NameserverAddresses()
	want := []netip.AddrPort{
		netip.MustParseAddrPort("192.0.2.1:53"), netip.MustParseAddrPort("192.0.2.1:5353"),
		netip.MustParseAddrPort("[2001:db8::1]:53"), netip.MustParseAddrPort("[2001:db8::1]:5353"),
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}
