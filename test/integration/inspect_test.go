// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	s.apply(rebootPolicies.object("v1", "api", `{targets: [{kind: Deployment, name: absent}], gates: [{name: database, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}]}`))
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
	s.Expect(stdout, "Ready is False (TargetNotFound)", "(Unknown: it could not be read: you have no permission: grant list on externalservices.networking.fairlead.dev",
		"Not known: externalservices.networking.fairlead.dev could not be read")
	if code, stdout, stderr = s.fairlead(s.Kubeconfig(), "status"); code != 1 { // the policy has failed
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.Expect(stdout, "ExternalService/db ", "└─RebootPolicy/api (gate database) ", "  └─Deployment/absent (restarts) ")
	if code, _, stderr = s.fairlead(reader.Kubeconfig, "status", "extsvc/db"); code != 2 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stderr, "ExternalService "+s.Namespace+"/db could not be read: you have no permission: grant list on externalservices.networking.fairlead.dev")
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

	if code, stdout, stderr = s.fairlead(s.Kubeconfig(), "why", "secret", "creds"); code != 0 {
		s.Errorf("exit code %d: %s", code, stderr)
	}
	s.Expect(stdout, "and 1 workload reads it.", "RebootPolicy api restarts it when the content changes.")
	if code, stdout, stderr = s.fairlead(s.Kubeconfig(), "why", "secret/creds", "-A", "-o", `jsonpath={.items[?(@.namespace=="`+s.Namespace+`")].kind}`); code != 0 || stdout != "Secret" {
		s.Errorf("exit code %d, %q: %s", code, stdout, stderr)
	}

	file := filepath.Join(t.TempDir(), "pull-request.yaml")
	s.Must(os.WriteFile(file, []byte(`{apiVersion: v1, kind: List, items: [
{apiVersion: v1, kind: Secret, metadata: {name: creds}, stringData: {password: hunter3, user: a}},
{apiVersion: autoreboot.fairlead.dev/v1alpha1, kind: RebootPolicy, metadata: {name: new}, spec: {targets: [{kind: Deployment, name: api}]}},
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
	s.Expect(stdout, "the policies that it would create are unknown: ", "grant list on namespaces in all namespaces")
	code, stdout, _ = s.fairlead(reader.Kubeconfig, "what-if", "secret/creds")
	if code != 2 {
		s.Errorf("exit code %d", code)
	}
	s.Expect(stdout, "Whether a workload restarts is unknown.", "grant get on secrets in namespace "+s.Namespace, "grant list on rebootpolicies.autoreboot.fairlead.dev")
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
	s.verb(user.Kubeconfig, 1, "you have no permission to patch RebootPolicy "+s.Namespace+"/api: grant patch on rebootpolicies.autoreboot.fairlead.dev", "restart", "rebootpolicy/api")
	s.verb(s.Kubeconfig(), 1, "you have no permission to patch RebootPolicy ", "restart", "rebootpolicy/api", "--as="+user.Name)
	s.run("create", "role", "writer", "--verb=patch", "--resource="+rebootPolicies.definition())
	s.run("create", "rolebinding", "writer", "--role=writer", "--user="+user.Name)
	s.verb(user.Kubeconfig, 1, "the API server rejects the request: ", "restart", "rebootpolicy/api") // no right to the Deployment
	s.verb(s.Kubeconfig(), 0, "nothing was persisted", "restart", "rebootpolicy/api", "--dry-run=server")
	if got := s.run("get", "rebootpolicy", "api", "-o", `jsonpath={.metadata.annotations.autoreboot\.fairlead\.dev/restart-now}`); got != "" {
		s.Errorf("a dry run has requested %s", got)
	}
	s.verb(s.Kubeconfig(), 0, "requested by the annotation autoreboot.fairlead.dev/restart-now=", "restart", "rebootpolicy/api")
	s.verb(s.Kubeconfig(), 1, "it has not halted", "retry", "rebootpolicy/api")
	s.verb(s.Kubeconfig(), 0, "it is suspended", "suspend", "rebootpolicy", "api", "--wait=1m")
	s.verb(s.Kubeconfig(), 1, "it is suspended already", "suspend", "rebootpolicy/api")
	s.verb(s.Kubeconfig(), 0, "it is not suspended", "resume", "rebootpolicy/api", "--wait=1m")
	s.verb(s.Kubeconfig(), 0, "externalservice.networking.fairlead.dev/db\n", "suspend", "externalservice/db", "--dry-run=client", "-o", "name")
	s.verb(s.Kubeconfig(), 1, "no RebootPolicy restarts it", "restart", "deployment/other")
	s.verb(s.Kubeconfig(), 1, "it has not failed over", "failback", "externalservice/db")
	s.verb(s.Kubeconfig(), 1, `it has no endpoint "b": name one of a, c`, "drain", "externalservice/db", "b")
	s.verb(s.Kubeconfig(), 1, "you have no permission to patch ExternalService", "drain", "externalservice/db", "a", "--as="+s.viewer())
	s.verb(s.Kubeconfig(), 0, "nothing was persisted", "drain", "externalservice/db", "a", "--dry-run=server")
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
		{"nothing was persisted", []string{"--dry-run=server"}},
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
