// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// replica is one process of the operator, and the test it belongs to.
type replica struct {
	*framework.Replica
	suite *suite
}

// start runs a replica behind the Service and returns once its webhooks answer. It ends with the
// test.
func (s *suite) start(args ...string) *replica {
	s.Helper()
	r, err := s.StartReplica(s.Context(), framework.Patient(append([]string{"--set=webhook.drainDelay=0s"}, args...)...)...)
	s.Must(err)
	s.Cleanup(func() { s.Retire(r) })
	return &replica{r, s}
}

// launch runs a replica and does not wait for it. It ends with the test.
func (s *suite) launch(args ...string) *replica {
	s.Helper()
	r, err := s.Launch(s.Context(), append([]string{"--set=webhook.drainDelay=0s"}, args...)...)
	s.Must(err)
	s.Cleanup(r.Stop)
	return &replica{r, s}
}

// status is /statusz.
type status struct {
	Seconds float64
	Phases  []struct {
		Phase, State, Detail  string
		AfterSeconds, Seconds float64
	}
	Facts []struct{ Name, Value string }
}

func (s status) state(phase string) string {
	for _, p := range s.Phases {
		if p.Phase == phase {
			return p.State
		}
	}
	return "absent"
}

func (s status) fact(name string) string {
	for _, f := range s.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

func (s status) leads() bool { return strings.HasSuffix(s.fact("leader"), "(this replica)") }

func (r *replica) status() (status, error) {
	r.suite.Helper()
	if r.PID() == 0 { // nothing to wait for
		output, err := r.Logs()
		r.suite.Fatalf("%s has ended (%v):\n%s", r.ID, err, output)
	}
	var answer status
	body, err := r.Probe(r.suite.Context(), "/statusz?format=json")
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal([]byte(body), &answer)
}

// reaches waits until a phase of the start is in a state.
func (r *replica) reaches(phase, state string) status {
	r.suite.Helper()
	var last status
	r.suite.Eventually(func() (err error) {
		if last, err = r.status(); err != nil {
			return err
		}
		if got := last.state(phase); got != state {
			return fmt.Errorf("%s: phase %s is %s, not %s: %+v", r.ID, phase, got, state, last.Phases)
		}
		return nil
	})
	return last
}

// reconciles waits until the replica does.
func (r *replica) reconciles() status {
	r.suite.Helper()
	return r.reaches("reconcilers", "done")
}

// ends waits until the process has ended, and returns its exit code and all it wrote.
func (r *replica) ends(within time.Duration) (code int, output string) {
	r.suite.Helper()
	ctx, cancel := context.WithTimeout(r.suite.Context(), within)
	defer cancel()
	err := r.Wait(ctx)
	output, logErr := r.Logs()
	r.suite.Must(logErr)
	if err == nil {
		return 0, output
	}
	exit, ok := err.(interface{ ExitCode() int })
	if !ok {
		r.suite.Fatalf("%s has not ended within %s: %v\n%s", r.ID, within, err, output)
	}
	return exit.ExitCode(), output
}

// entry is a line of the log.
type entry map[string]any

// entries are the lines of the log with a message.
func (r *replica) entries(message string) []entry {
	r.suite.Helper()
	text, err := r.Logs()
	r.suite.Must(err)
	var found []entry
	for line := range strings.Lines(text) {
		var e entry
		if json.Unmarshal([]byte(line), &e) == nil && e["msg"] == message {
			found = append(found, e)
		}
	}
	return found
}

// insecure is for servers whose certificate is their own affair.
var insecure = &http.Client{
	Timeout:   framework.Patience,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

// scrape gets a path of the metrics server, with a token or without.
func (r *replica) scrape(path, token string) (code int, body string, err error) {
	request, err := http.NewRequestWithContext(r.suite.Context(), http.MethodGet, r.Metrics+path, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := insecure.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

// scrapable is nil once the metrics server answers anything: it makes itself a key first, and
// nothing waits for it.
func (r *replica) scrapable() error {
	_, _, err := r.scrape("/metrics", "")
	return err
}

// metric reads one series, such as fairlead_leader, as an authorized scraper; 0 where it is absent.
func (r *replica) metric(series string) (float64, error) {
	code, body, err := r.scrape("/metrics", r.suite.scraper())
	if err != nil || code != http.StatusOK {
		return 0, fmt.Errorf("scrape %s: %d %v", r.ID, code, err)
	}
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, nil
}

// mustMetric is metric where a failure ends the test.
func (r *replica) mustMetric(series string) float64 {
	r.suite.Helper()
	r.suite.Eventually(r.scrapable)
	value, err := r.metric(series)
	r.suite.Must(err)
	return value
}

// scraper is the token of a ServiceAccount that may read metrics.
func (s *suite) scraper() string {
	s.Helper()
	return s.token("scraper", "fairlead-metrics-reader")
}

// token is that of a ServiceAccount with a role, or with none where role is empty.
func (s *suite) token(account, role string) string {
	s.Helper()
	key := tokenKey{s.Cluster, account}
	if token, ok := tokens.Load(key); ok {
		return token.(string)
	}
	s.Kubectl("create", "serviceaccount", account, "-n", framework.Namespace)
	if role != "" {
		s.Kubectl("create", "clusterrolebinding", account, "--clusterrole="+role, "--serviceaccount="+framework.Namespace+":"+account)
	}
	token := strings.TrimSpace(s.Kubectl("create", "token", account, "-n", framework.Namespace, "--duration=1h"))
	tokens.Store(key, token)
	return token
}

type tokenKey struct {
	stage   *framework.Cluster
	account string
}

// tokens are those that were made, by tokenKey.
var tokens sync.Map
