// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// program is the binary.
func (s *suite) program() string {
	s.Helper()
	path, err := filepath.Abs(filepath.Join(framework.Root, "bin", "fairlead-operator-outside"))
	s.Must(err)
	return path
}

// fairlead runs a command of the binary as a user, in the namespace.
func (s *suite) fairlead(kubeconfig string, args ...string) (code int, stdout, stderr string) {
	s.Helper()
	command := exec.CommandContext(s.Context(), s.program(), append(args, "-n", s.Namespace, "--kubeconfig", kubeconfig)...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return ended.ExitCode(), out.String(), errs.String()
	}
	s.Must(err)
	return 0, out.String(), errs.String()
}

func TestWhyAndStatusShowWhatTheUserMayReadAndNameTheRest(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(externalServices.object("v1", "db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`))
	s.apply(rebootPolicies.object("v1", "api", `{targets: [{kind: Deployment, name: absent}], gates: [{name: database, type: ExternalServiceHealthy, externalServiceHealthy: {name: db}}]}`))
	s.run("wait", "--for=condition=Ready", "externalservice/db", "--timeout=60s")
	s.run("wait", "--for=condition=Ready=False", "rebootpolicy/api", "--timeout=60s")
	code, stdout, stderr := s.fairlead(s.Kubeconfig(), "why", "rebootpolicy/api")
	if code != 0 {
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.Expect(stdout, "RebootPolicy "+s.Namespace+"/api is Failed.", "Ready is False (TargetNotFound)", "Create the workload, or correct spec.targets.",
		"gate database, ExternalService "+s.Namespace+"/db (Healthy)", "restarts, Deployment "+s.Namespace+"/absent (Unknown: it does not exist)")
	if code, stdout, stderr = s.fairlead(s.Kubeconfig(), "why", "extsvc/db"); code != 0 {
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.Expect(stdout, "Address 192.0.2.1 of endpoint a.", "published as ready", "gate database of, RebootPolicy "+s.Namespace+"/api (Failed: TargetNotFound)")

	reader, err := s.User("reader")
	s.Must(err)
	if code, _, stderr = s.fairlead(reader.Kubeconfig, "why", "rebootpolicy/api"); code != 2 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stderr, "grant get on rebootpolicies.autoreboot.fairlead.dev in namespace "+s.Namespace)
	s.run("create", "role", "reader", "--verb=get", "--resource="+rebootPolicies.definition())
	s.run("create", "rolebinding", "reader", "--role=reader", "--user=reader")
	s.Eventually(func() error { // the authorizer learns of it on its own
		if code, stdout, stderr = s.fairlead(reader.Kubeconfig, "why", "rebootpolicy/api"); stdout == "" {
			return errors.New(stderr)
		}
		return nil
	})
	if code != 2 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stdout, "Ready is False (TargetNotFound)", "(Unknown: it could not be read: this user may not: grant list on externalservices.networking.fairlead.dev",
		"Not known: externalservices.networking.fairlead.dev could not be read")
	if code, stdout, stderr = s.fairlead(s.Kubeconfig(), "status"); code != 1 { // the policy has failed
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.Expect(stdout, "ExternalService/db ", "└─RebootPolicy/api (gate database) ", "  └─Deployment/absent (restarts) ")
	_, stdout, _ = s.fairlead(s.Kubeconfig(), "status", "-o", "mermaid")
	s.Expect(stdout, "flowchart LR\n", `n1 -->|"gate database"| n0`)
	if code, _, stderr = s.fairlead(reader.Kubeconfig, "status", "extsvc/db"); code != 2 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stderr, "ExternalService "+s.Namespace+"/db could not be read: this user may not: grant list on externalservices.networking.fairlead.dev")
	if code, _, stderr = s.fairlead(s.Kubeconfig(), "why", "rebootpolicy/none"); code != 2 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stderr, "there is no RebootPolicy "+s.Namespace+"/none")
}

// The policy is asked for what it does, as a user with all rights and as one who may read nothing but policies.
func TestWhatIfForeseesARestartWithTheRightsOfTheUser(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run("create", "secret", "generic", "creds", "--from-literal=password=hunter2", "--from-literal=user=a")
	s.apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "a:1", envFrom: [{secretRef: {name: creds}}]}]}}}}`)
	s.apply(rebootPolicies.object("v1", "api", `{targets: [{kind: Deployment, name: api}], triggers: [{name: config, type: ConfigChange}], windows: [{name: year, cron: "0 0 1 1 *", duration: 1h}]}`))
	s.run("wait", "--for=condition=Ready", "rebootpolicy/api", "--timeout=60s")
	code, stdout, stderr := s.fairlead(s.Kubeconfig(), "what-if", "secret/creds", "--key=password")
	if code != 0 {
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.Expect(stdout, "Secret "+s.Namespace+"/creds changes in the key password. Watched by RebootPolicy api.",
		"Deployment "+s.Namespace+"/api restarts as number 1 of RebootPolicy api", "Held by ScaledToZero", "Held by OutsideWindow", "1 workload would restart.")

	file := filepath.Join(t.TempDir(), "pull-request.yaml")
	s.Must(os.WriteFile(file, []byte(`{apiVersion: v1, kind: List, items: [
{apiVersion: v1, kind: Secret, metadata: {name: creds}, stringData: {password: hunter3, user: a}},
{apiVersion: autoreboot.fairlead.dev/v1alpha1, kind: RebootPolicy, metadata: {name: new}, spec: {target: {kind: Deployment, name: api}}},
{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: api}, spec: {suspend: true, targets: [{kind: Deployment, name: api}], triggers: [{name: config, type: ConfigChange}]}}]}`), 0o600))
	code, stdout, stderr = s.fairlead(s.Kubeconfig(), "what-if", "-f", file, "-o", "markdown")
	if code != 0 {
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.Expect(stdout, "1 workload would restart.", "the key password", "Suspended: the policy is suspended", "/new: new; a policy takes")
	if strings.Contains(stdout, "hunter") {
		s.Errorf("a value is shown: %s", stdout)
	}

	s.run("annotate", "deployment", "api", "fairlead.dev/restart-on-change=true")
	s.run("delete", "rebootpolicy", "api")
	s.Must(os.WriteFile(file, []byte(`{apiVersion: autoreboot.fairlead.dev/v1, kind: ClusterRebootPolicy, metadata: {name: of-`+s.Namespace+`}, spec: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+s.Namespace+`}}, template: {spec: {targets: [{selector: {}, optIn: Annotation}], triggers: [{name: config, type: ConfigChange}]}}}}`), 0o600))
	if code, stdout, stderr = s.fairlead(s.Kubeconfig(), "what-if", "-f", file); code != 0 {
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.Expect(stdout, "RebootPolicy "+s.Namespace+"/of-"+s.Namespace+" of ClusterRebootPolicy of-"+s.Namespace+": new; a policy takes")

	reader, err := s.User("reader-of-" + s.Namespace)
	s.Must(err)
	if code, stdout, _ = s.fairlead(reader.Kubeconfig, "what-if", "-f", file); code != 2 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stdout, "which policies it would have is not known: ", "grant list on namespaces in all namespaces")
	code, stdout, _ = s.fairlead(reader.Kubeconfig, "what-if", "secret/creds")
	if code != 2 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stdout, "Whether a workload restarts is not known.", "grant get on secrets in namespace "+s.Namespace, "grant list on rebootpolicies.autoreboot.fairlead.dev")
}

func TestACalendarHasWhatTheUserMayReadAndNamesTheRest(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(rebootPolicies.object("v1", "api", `{targets: [{kind: Deployment, name: absent}], windows: [{name: night, cron: "0 2 * * *", duration: 1h, timeZone: Europe/Zurich}], triggers: [{name: weekly, type: Schedule, schedule: {cron: "0 0 * * 1"}}]}`))
	code, stdout, stderr := s.fairlead(s.Kubeconfig(), "calendar", "-o", "ics")
	if code != 0 {
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.Expect(strings.ReplaceAll(stdout, "\r\n ", ""), "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n", "SUMMARY:Window: RebootPolicy "+s.Namespace+"/api\\, night\r\n",
		"SUMMARY:Restart: RebootPolicy "+s.Namespace+"/api\\, weekly\r\n", "END:VCALENDAR\r\n")
	reader, err := s.User("reader-of-" + s.Namespace)
	s.Must(err)
	if code, stdout, _ = s.fairlead(reader.Kubeconfig, "calendar"); code != 2 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stdout, "grant list on rebootpolicies.autoreboot.fairlead.dev", "configmaps/fairlead-calendar in namespace fairlead-system could not be read")
}

// The records of runs and restarts that pass are those of the guides.
func TestAReportHasWhatTheUserMayReadAndNamesTheRest(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(externalServices.object("v1", "db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`))
	s.apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, annotations: {fairlead.dev/depends-on: externalservice/db}}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "a:1"}]}}}}`)
	s.apply(rebootPolicies.object("v1", "api", `{targets: [{kind: Deployment, name: api}]}`))
	s.run("wait", "--for=condition=Ready", "externalservice/db", "rebootpolicy/api", "--timeout=60s")
	s.verb(s.Kubeconfig(), 1, "the fault has ended (Refused): there is no healthCheck", "fault", "externalservice/db", "BlackHole", "--for=1s", "--wait=1m")
	code, stdout, stderr := s.fairlead(s.Kubeconfig(), "report")
	if code != 0 {
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.Expect(stdout, "Deployment/api   a lost pod ", "Make a ChaosPod with Deployment api", "`fairlead restart rebootpolicy/api -n "+s.Namespace+"`",
		"ExternalService db, record fault-", "Refused; fault BlackHole for=1s", "the record does not name the workload", "3 Never.")
	if code, stdout, _ = s.fairlead(s.Kubeconfig(), "report", "-o", "csv", "--fail-on=never"); code != 1 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stdout, s.Namespace+",Deployment,api,AbsentDependency,db,Never,")
	_, stdout, _ = s.fairlead(s.Kubeconfig(), "report", "-o", "html")
	s.Expect(stdout, "<h1>What workloads have survived</h1>", `<th scope="row">Deployment/api</th>`)
	reader := s.viewer()
	if code, stdout, _ = s.fairlead(s.Kubeconfig(), "report", "--as="+reader); code != 2 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stdout, "Not known: deployments.apps could not be read: this user may not: grant list on deployments.apps in namespace "+s.Namespace)
}

// kubectl asks a program beside the plugin, which docs/guides/convert.md shows.
func TestKubectlCompletesTheNamesOfObjects(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(rebootPolicies.object("v1", "api", `{targets: [{kind: Deployment, name: absent}]}`))
	s.apply(rebootPolicies.object("v1", "web", `{targets: [{kind: Deployment, name: absent}]}`))
	programs := t.TempDir()
	s.Must(os.Symlink(s.program(), filepath.Join(programs, "kubectl-fairlead")))
	guide, err := os.ReadFile(filepath.Join(framework.Root, "docs", "guides", "convert.md"))
	s.Must(err)
	script := regexp.MustCompile("(?s)```sh\n(#!/bin/sh\n.*?)```").FindSubmatch(guide)
	s.Must(os.WriteFile(filepath.Join(programs, "kubectl_complete-fairlead"), script[1], 0o700))
	for word, want := range map[string]string{"rebootpolicy/": "rebootpolicy/api\nrebootpolicy/web\n", "rbp/w": "rbp/web\n", "": "rebootpolicy/\n"} {
		command := exec.CommandContext(s.Context(), s.KubectlPath(), "__complete", "fairlead", "restart", "-n", s.Namespace, word)
		command.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig(), "PATH="+programs+":"+os.Getenv("PATH"))
		if printed, err := command.Output(); err != nil || !strings.HasPrefix(string(printed), want) {
			s.Errorf("%q completes to %q, %v", word, printed, err)
		}
	}
}

func TestWhatPublishPrintsIsTakenByTheAPIServer(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, args := range [][]string{
		{"192.0.2.1:5432", "192.0.2.2:5432", "--name=db"}, {"api.example.com:443", "--check=https", "--path=/healthz"}, {"a.example.com:50051", "--check=grpc"},
	} {
		manifest, err := exec.CommandContext(s.Context(), s.program(), append([]string{"publish", "-n", s.Namespace}, args...)...).Output()
		s.Must(err)
		if answer := s.apply(string(manifest)); !strings.Contains(answer.out, "created") || answer.err != "" {
			s.Errorf("%q: %s%s", args, answer.out, answer.err)
		}
	}
}

// It takes the rights that the annotation takes, and waits for the verdict of the operator.
func TestAVerbIsOneRequestWithTheRightsOfTheUser(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(externalServices.object("v1", "db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}, {name: c, addresses: [192.0.2.2]}]}`))
	s.apply(rebootPolicies.object("v1", "api", `{targets: [{kind: Deployment, name: absent}]}`))
	s.run("wait", "--for=condition=Ready", "externalservice/db", "--timeout=60s")
	s.run("wait", "--for=condition=Ready=False", "rebootpolicy/api", "--timeout=60s")
	user, err := s.User("operator-of-" + s.Namespace)
	s.Must(err)
	if code, _, stderr := s.fairlead(user.Kubeconfig, "restart", "rebootpolicy/api"); code != 2 {
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.run("create", "role", "reader", "--verb=get", "--resource="+rebootPolicies.definition())
	s.run("create", "rolebinding", "reader", "--role=reader", "--user="+user.Name)
	s.verb(user.Kubeconfig, 1, "this user may not patch RebootPolicy "+s.Namespace+"/api: grant patch on rebootpolicies.autoreboot.fairlead.dev", "restart", "rebootpolicy/api")
	s.verb(s.Kubeconfig(), 1, "this user may not patch RebootPolicy ", "restart", "rebootpolicy/api", "--as="+user.Name)
	s.run("create", "role", "writer", "--verb=patch", "--resource="+rebootPolicies.definition())
	s.run("create", "rolebinding", "writer", "--role=writer", "--user="+user.Name)
	s.verb(user.Kubeconfig, 1, "the API server refuses the request: ", "restart", "rebootpolicy/api") // no right to the Deployment
	s.verb(s.Kubeconfig(), 0, "nothing was changed", "restart", "rebootpolicy/api", "--dry-run=server")
	if got := s.run("get", "rebootpolicy", "api", "-o", `jsonpath={.metadata.annotations.autoreboot\.fairlead\.dev/restart-now}`); got != "" {
		s.Errorf("a dry run has requested %s", got)
	}
	s.verb(s.Kubeconfig(), 0, "requested by the annotation autoreboot.fairlead.dev/restart-now=", "restart", "rebootpolicy/api")
	s.verb(s.Kubeconfig(), 1, "it has not halted", "resume", "rebootpolicy/api")
	s.verb(s.Kubeconfig(), 1, "it has not failed over", "failback", "externalservice/db")
	s.verb(s.Kubeconfig(), 1, `it has no endpoint "b": name one of a, c`, "drain", "externalservice/db", "b")
	s.verb(s.Kubeconfig(), 1, "this user may not patch ExternalService", "drain", "externalservice/db", "a", "--as="+s.viewer())
	s.verb(s.Kubeconfig(), 0, "nothing was changed", "drain", "externalservice/db", "a", "--dry-run=server")
	s.verb(s.Kubeconfig(), 0, "endpoint a is Drained: 1 address", "drain", "externalservice/db", "a", "--wait=1m")
	s.verb(s.Kubeconfig(), 0, "nothing is published then", "drain", "externalservice/db", "c", "--wait=1m")
	s.verb(s.Kubeconfig(), 0, "endpoint a is Active: 1 address", "drain", "externalservice/db", "a", "--undo", "--wait=1m")
	s.verb(s.Kubeconfig(), 2, "there is no ChaosPod "+s.Namespace+"/none", "run", "chaospod/none")
	s.verb(s.Kubeconfig(), 1, "the fault has ended (Refused): there is no healthCheck", "fault", "externalservice/db", "BlackHole", "--for=1s", "--wait=1m")
}

// viewer returns a user who may get and list what is in the namespace.
func (s *suite) viewer() string {
	s.Helper()
	name := "viewer-of-" + s.Namespace
	s.run("create", "role", "viewer", "--verb=get,list", "--resource="+strings.Join([]string{externalServices.definition(), rebootPolicies.definition()}, ","))
	s.run("create", "rolebinding", "viewer", "--role=viewer", "--user="+name)
	return name
}

func TestARotationOfTheRootTakesTheRightToTheSecret(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for _, test := range []struct {
		want string
		args []string
	}{
		{"grant get on secrets in namespace fairlead-system", []string{"--as=" + s.viewer()}},
		{"there is no Secret fairlead-system/none", []string{"--secret=none"}},
		{"nothing was changed", []string{"--dry-run=server"}},
	} {
		printed, _ := exec.CommandContext(s.Context(), s.program(), append([]string{"rotate-ca", "--kubeconfig=" + s.Kubeconfig()}, test.args...)...).CombinedOutput()
		s.Expect(string(printed), test.want)
	}
}

// verb wants an exit code and words of a command, which the authorizer may take a while to allow.
func (s *suite) verb(kubeconfig string, wanted int, words string, args ...string) {
	s.Helper()
	s.Eventually(func() error {
		code, stdout, stderr := s.fairlead(kubeconfig, args...)
		if said := stdout + stderr; code != wanted || !strings.Contains(said, words) {
			return fmt.Errorf("%q: exit code %d, %s", args, code, said)
		}
		return nil
	})
}

// The pages are served as a user with all rights and as one who may read nothing of Fairlead.
func TestPagesShowWhatTheUserMayReadAndNameTheRest(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(externalServices.object("v1", "db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`))
	s.apply(rebootPolicies.object("v1", "api", `{targets: [{kind: Deployment, name: absent}]}`))
	s.run("wait", "--for=condition=Ready=False", "rebootpolicy/api", "--timeout=60s")
	page, end := s.pages(s.Kubeconfig())
	s.Expect(s.page(page+"?object=RebootPolicy/"+s.Namespace+"/api"), "<b>db</b>", "Why RebootPolicy "+s.Namespace+"/api is Failed", "Create the workload, or correct spec.targets.")
	s.apply(externalServices.object("v1", "late", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`))
	s.Eventually(func() error { // by the watch
		if shown := s.page(page); !strings.Contains(shown, "<b>late</b>") {
			return errors.New(shown)
		}
		return nil
	})
	end()

	reader, err := s.User("reader-of-" + s.Namespace)
	s.Must(err)
	page, end = s.pages(reader.Kubeconfig)
	shown := s.page(page + "?object=ExternalService/" + s.Namespace + "/db")
	s.Expect(shown, "grant list and watch on externalservices.networking.fairlead.dev in namespace "+s.Namespace, "Nothing can be shown")
	if strings.Contains(shown, "<b>db</b>") {
		s.Errorf("shown without the right: %s", shown)
	}
	end()
}

// What a user watches is told as it changes, and by no request of its own.
func TestStatusIsWatched(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.apply(externalServices.object("v1", "db", `{ports: [{name: sql, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}`))
	s.run("wait", "--for=condition=Ready", "externalservice/db", "--timeout=60s")
	bounded, cancel := context.WithTimeout(s.Context(), framework.Patience)
	defer cancel()
	command := exec.CommandContext(bounded, s.program(), "status", "--watch", "-n", s.Namespace, "--kubeconfig", s.Kubeconfig())
	stdout, err := command.StdoutPipe()
	s.Must(err)
	s.Must(command.Start())
	printed := bufio.NewScanner(stdout)
	until := func(words string) {
		s.Helper()
		for printed.Scan() {
			if strings.Contains(printed.Text(), words) {
				return
			}
		}
		s.Fatalf("ended without %q: %v", words, printed.Err())
	}
	until("ExternalService/db   Healthy")
	s.Merge("networking.fairlead.dev/v1", "ExternalService", "db", `{"spec": {"suspend": true}}`)
	until("Z  ExternalService/db  Suspended")
	s.run("delete", "externalservice", "db")
	until("ExternalService/db  gone; it was ")
	s.Must(command.Process.Signal(os.Interrupt))
	s.Must(command.Wait())
	if code, _, stderr := s.fairlead(s.Kubeconfig(), "status", "--watch", "-o", "json"); code != 2 || !strings.Contains(stderr, "--watch shows lines, and not json") {
		s.Errorf("%d: %s", code, stderr)
	}
}

// pages serves pages as a user, and returns their address and what ends them as Ctrl-C does.
func (s *suite) pages(kubeconfig string) (address string, end func()) {
	s.Helper()
	command := exec.CommandContext(s.Context(), s.program(), "ui", "-n", s.Namespace, "--kubeconfig", kubeconfig)
	stdout, err := command.StdoutPipe()
	s.Must(err)
	s.Must(command.Start())
	printed := bufio.NewScanner(stdout)
	if !printed.Scan() {
		s.Fatalf("no address: %v, %v", printed.Err(), command.Wait())
	}
	address, _, _ = strings.Cut(strings.TrimPrefix(printed.Text(), "Open "), ",")
	return address, func() {
		s.Must(command.Process.Signal(os.Interrupt))
		if err := command.Wait(); err != nil {
			s.Errorf("interrupted: %v", err)
		}
	}
}

func (s *suite) page(address string) string {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, address, http.NoBody)
	s.Must(err)
	response, err := http.DefaultClient.Do(request)
	s.Must(err)
	body, err := io.ReadAll(response.Body)
	s.Must(errors.Join(err, response.Body.Close()))
	return string(body)
}
