// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

func TestTheNamespaceComesFromTheConfigurationTheVariableOrTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		service, lease, variable, file string
		want                           identity
	}{
		"configuration":   {"a", "", "from-env", file, identity{namespace: "a", leaseNamespace: "a"}},
		"variable":        {"", "", "from-env", file, identity{namespace: "from-env", leaseNamespace: "from-env"}},
		"file":            {"", "", "", file, identity{namespace: "from-file", leaseNamespace: "from-file"}},
		"lease elsewhere": {"", "b", "", file, identity{namespace: "from-file", leaseNamespace: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := options.Default()
			c.Service.Namespace, c.LeaderElection.ResourceNamespace, c.LeaderElection.ID = test.service, test.lease, "me"
			getenv := func(name string) string {
				return map[string]string{"POD_NAMESPACE": test.variable, "POD_NAME": "pod-0"}[name]
			}
			got, err := newIdentity(c, getenv, test.file)
			if err != nil {
				t.Fatal(err)
			}
			test.want.id, test.want.pod = "me", "pod-0"
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(identity{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOutsideAPodTheNamespaceMustBeGiven(t *testing.T) {
	_, err := newIdentity(options.Default(), func(string) string { return "" }, filepath.Join(t.TempDir(), "none"))
	if err == nil || !strings.Contains(err.Error(), "service.namespace") || !strings.Contains(err.Error(), "POD_NAMESPACE") {
		t.Errorf("error %v", err)
	}
}

func TestEveryReplicaHasAnIdentityOfItsOwn(t *testing.T) {
	env := func(string) string { return "ns" }
	a, errA := newIdentity(options.Default(), env, "")
	b, errB := newIdentity(options.Default(), env, "")
	if errA != nil || errB != nil || a.id == b.id || !strings.Contains(a.id, "_") {
		t.Errorf("%q, %q, %v, %v", a.id, b.id, errA, errB)
	}
}

// reaching makes a reach for an API server that responds by a function.
func reaching(t *testing.T, limit time.Duration, answer http.HandlerFunc) apiServerWait {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return apiServerWait{
		client: client.Discovery().RESTClient(), server: server.URL, origin: "kubeconfig /k", limit: limit,
		first: time.Millisecond, startup: testStartup(t), logger: logr.Discard(),
	}
}

func TestAnAPIServerThatStartsIsWaitedFor(t *testing.T) {
	attempts := 0
	r := reaching(t, 20*time.Second, func(w http.ResponseWriter, _ *http.Request) {
		if attempts++; attempts < 4 {
			http.Error(w, "etcd is not ready", http.StatusServiceUnavailable)
		}
	})
	if err := r.wait(context.Background()); err != nil || attempts != 4 {
		t.Errorf("error %v after %d attempts", err, attempts)
	}
}

func TestAnAPIServerThatRefusesHasAnsweredUnlessItDoesNotKnowUs(t *testing.T) {
	for code, fine := range map[int]bool{200: true, 403: true, 404: true, 401: false, 429: false, 500: false, 503: false} {
		r := reaching(t, 20*time.Second, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) })
		if err := r.ping(context.Background()); (err == nil) != fine {
			t.Errorf("%d: %v", code, err)
		}
	}
}

func TestAnAPIServerThatNeverAnswersIsGivenUpWithItsNameAndARemedy(t *testing.T) {
	r := reaching(t, 50*time.Millisecond, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", 500) })
	err := r.wait(context.Background())
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{r.server, "kubeconfig /k", "50ms", "clientConnection.startTimeout"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if row := r.startup.status().Phases[0]; !strings.Contains(row.Detail, r.server) {
		t.Errorf("statusz shows %q", row.Detail)
	}
}

func TestBeingToldToStopEndsTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := reaching(t, time.Hour, func(w http.ResponseWriter, _ *http.Request) { cancel(); http.Error(w, "broken", 500) })
	if err := r.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestProbesSayAliveFromTheBeginningAndReadyWithTheWebhooks(t *testing.T) {
	unready := errors.New("webhook server is not ready: it does not listen yet")
	ready, lost := unready, error(nil)
	handler := probes(func() error { return ready }, func() error { return lost }, http.NotFoundHandler())
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code, w.Body.String()
	}
	if code, _ := get("/healthz"); code != 200 {
		t.Errorf("/healthz %d", code)
	}
	if code, body := get("/readyz"); code != 503 || !strings.Contains(body, "does not listen yet") {
		t.Errorf("/readyz %d %q", code, body)
	}
	ready = nil
	if code, body := get("/readyz"); code != 200 || body != "ok\n" {
		t.Errorf("/readyz %d %q", code, body)
	}
	lost = errors.New("its CA bundle is missing")
	if code, body := get("/readyz"); code != 200 || body != "ok\ndegraded: its CA bundle is missing\n" {
		t.Errorf("/readyz %d %q", code, body)
	}
	if code, _ := get("/metrics"); code != 404 {
		t.Errorf("/metrics %d on the probe server", code)
	}
}

func TestAnAddressInUseIsNamedWithTheFlag(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	at := taken.Addr().String()
	probe := httpServer{name: "probe server", address: at, flag: "--health-probe-bind-address", handler: http.NotFoundHandler()}
	c := options.Default()
	c.Metrics = options.Metrics{BindAddress: at}
	metrics, err := metricsServer(c, &rest.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for flag, run := range map[string]func(context.Context) error{"--health-probe-bind-address": probe.run, "--metrics-bind-address": metrics.run} {
		err := run(context.Background())
		if err == nil || !strings.Contains(err.Error(), at) || !strings.Contains(err.Error(), "in use") || !strings.Contains(err.Error(), flag) {
			t.Errorf("error %v", err)
		}
	}
}

func TestMetricsAreRefusedToWhoIsNotAuthenticatedAndSpeakOnlyModernTLS(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	_ = free.Close()
	c := options.Default()
	c.Metrics.BindAddress, c.Profiling.OnMetrics = at, true
	server, err := metricsServer(c, &rest.Config{Host: "https://127.0.0.1:1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.run(ctx) }()
	client := insecureClient()
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		var response *http.Response
		for deadline := time.Now().Add(time.Minute); ; {
			if response, err = client.Get("https://" + at + path); err == nil || time.Now().After(deadline) {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized || response.ProtoMajor != 1 || response.TLS.Version < 0x0304 {
			t.Errorf("%s: %s, %s, TLS %x", path, response.Status, response.Proto, response.TLS.Version)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAMetricsCertificateThatIsNotThereIsAnError(t *testing.T) {
	c := options.Default()
	c.Metrics.CertDir = t.TempDir()
	if _, err := metricsServer(c, &rest.Config{}, nil); err == nil || !strings.Contains(err.Error(), c.Metrics.CertDir) {
		t.Errorf("error %v", err)
	}
}

func TestTheLogHasTheConfiguredFormAndLevel(t *testing.T) {
	for name, test := range map[string]struct {
		logging options.Logging
		want    []string
	}{
		"json":  {options.Logging{Format: "json", Level: "info"}, []string{`"level":"info"`, `"msg":"told"`, `"took":"1.5s"`, `"err":"broke"`}},
		"text":  {options.Logging{Format: "text", Level: "info"}, []string{`level=info msg=told took=1.5s`, `err=broke`}},
		"debug": {options.Logging{Format: "text", Level: "debug"}, []string{`level=debug msg=detail`}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			logger, _, err := NewLogger(test.logging, &out)
			if err != nil {
				t.Fatal(err)
			}
			logger.Info("told", "took", 1500*time.Millisecond)
			logger.V(1).Info("detail")
			logger.Error(errors.New("broke"), "failed")
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s does not say %s", out.String(), want)
				}
			}
			if strings.Contains(out.String(), "detail") != (name == "debug") || strings.Contains(out.String(), "goroutine") {
				t.Errorf("too much, or too little: %s", out.String())
			}
		})
	}
	logger, level, err := NewLogger(options.Logging{Level: "error"}, io.Discard)
	if err != nil || logger.Enabled() {
		t.Errorf("level error lets info through: %v", err)
	}
	for _, test := range []struct {
		body    string
		code    int
		enabled bool
	}{
		{"debug\n", 200, true}, {"8", 400, true}, {"", 400, true}, {strings.Repeat("1", 100), 400, true}, {"info", 200, false}, {"3", 200, true},
	} {
		w := httptest.NewRecorder()
		level.ServeHTTP(w, httptest.NewRequest(http.MethodPost, logLevelPath, strings.NewReader(test.body)))
		if w.Code != test.code || logger.V(1).Enabled() != test.enabled {
			t.Errorf("%.9q: %d %s: debug is %t", test.body, w.Code, w.Body, logger.V(1).Enabled())
		}
	}
}
