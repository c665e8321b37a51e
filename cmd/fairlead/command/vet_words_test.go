// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vetText runs the command on a text, and returns its lines without the summary.
func vetText(t *testing.T, content string, args ...string) (code int, found []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runCommand(t, append([]string{"vet", path}, args...)...)
	if stderr != "" {
		t.Errorf("stderr: %s", stderr)
	}
	for line := range strings.Lines(stdout) {
		if at, rest, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasPrefix(at, path) {
			found = append(found, strings.TrimPrefix(at, path+":")+": "+rest)
		}
	}
	return code, found
}

const (
	external = "apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: a}\nspec:\n  ports: [{name: a, port: 80}]\n"
	named    = external + "  endpoints: [{name: a, dns: {name: 'NAME'}}]\n"
	listed   = external + "  endpoints: [{name: a, addresses: ['NAME']}]\n"
	checked  = external + "  endpoints: [{name: a, addresses: [192.0.2.1]}]\n  healthCheck: {tcpSocket: {}, interval: NAME}\n"
	probed   = "apiVersion: networking.fairlead.dev/v1alpha1\nkind: ExternalService\nmetadata: {name: a}\nspec: {ports: [{name: a, port: 1}], endpoints: [{name: a, addresses: [192.0.2.1]}], probe: {tcpSocket: {port: 1}, failureThreshold: NAME}}\n"
	reboots  = "apiVersion: autoreboot.fairlead.dev/v1\nkind: RebootPolicy\nmetadata: {name: a}\nspec:\n  targets: [{kind: Deployment, name: a}]\n"
	night    = reboots + "  triggers: [{name: a, type: Schedule, schedule: {cron: 'NAME'}}]\n"
)

func TestVetSaysWhatToWriteInstead(t *testing.T) {
	for name, test := range map[string]struct {
		content, value string
		want           []string
	}{
		"a duration without a unit":     {checked, "10", []string{`durations need a unit: write "10s"`}},
		"a duration in days":            {checked, "1d", []string{`"1d": must be a duration such as 30s, 5m or 1h30m: one to four numbers of at most five digits, each with its unit h, m, s or ms [FL1210]`}},
		"a duration with a space":       {checked, "5 s", []string{`"5 s": must be a duration such as 30s, 5m or 1h30m`}},
		"a URL":                         {named, "https://db.example.com/", []string{"must be a DNS name: leave out scheme and path [FL1207]"}},
		"a name with a port":            {named, "db.example.com:5432", []string{"must be a DNS name: the port goes to spec.ports"}},
		"a name in upper case":          {named, "DB.Example.com", []string{"must be a DNS name: write it in lower case"}},
		"a wildcard":                    {named, "*.example.com", []string{"must be a DNS name: a wildcard cannot be looked up"}},
		"a name for an address":         {listed, "db.example.com", []string{"must be an IP address: use dns.name for a name"}},
		"an address with a port":        {listed, "10.0.0.1:5432", []string{"must be an IP address: the port goes to spec.ports"}},
		"a range":                       {listed, "10.0.0.0/24", []string{"must be an IP address: a range cannot be listed"}},
		"an address in another form":    {listed, "2001:DB8::1", []string{"must be in canonical form, which is 2001:db8::1"}},
		"the last day of a month":       {night, "0 3 L * *", []string{`day-of-month "L": takes 1-31, *, lists, ranges and steps; the last day of a month cannot be named [FL1209]`}},
		"Sunday as 7":                   {night, "0 3 * * 7", []string{`day-of-week "7": takes 0-6 or SUN-SAT, *, lists, ranges and steps; Sunday is 0`}},
		"a value of a template":         {named, "{{ .Release.Name }}-db", []string{"looks like a Helm template: run `helm template . | fairlead vet -` instead [FL1001]"}},
		"nothing in a list":             {external + "  endpoints: NAME\n", "[]", []string{"spec.endpoints: must have at least 1 item [FL1201]"}},
		"an empty name":                 {external + "  endpoints: [{name: '', addresses: [192.0.2.1]}]\n", "", []string{"must not be empty", "lower-case"}},
		"a macro as a window":           {night + "  windows: [{name: daily, cron: '@daily', duration: 2h}]\n", "@daily", nil},
		"an expression and a time zone": {reboots + "  triggers: [{name: a, type: Schedule, schedule: {cron: '61 * * * *', timeZone: Europe/Zurick}}]\n", "", []string{`minute "61"`, `unknown time zone "Europe/Zurick"`}},
		"a name twice": {reboots + "  triggers: [{name: a, type: PodAge, podAge: {max: 1h}}, {name: c, type: PodAge, podAge: {max: 1h}}, {name: c, type: PodAge, podAge: {max: 1h}}]\n", "",
			[]string{`spec.triggers[2]: name "c" is used by triggers[1] and triggers[2] [FL1205]`}},
		"an address twice":                        {external + "  endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.1]}]\n", "", []string{`"192.0.2.1" is listed twice, as addresses[0] and addresses[1] [FL1205]`}},
		"an error of type beside one of a rule":   {external + "  endpoints: [{name: a, dns: {name: a.svc}, zone: 5}]\n  resolution: {minTTL: 5, maxTTL: 500ms}\n", "", []string{"in-cluster", "zone: must be a string", `write "5s"`, "spec.resolution.maxTTL: \"500ms\": must be at least 1s"}},
		"a rule about a part that cannot be read": {reboots + "  triggers: [{name: a, type: Probe, podAge: {max: 60}}]\n", "", []string{`write "60s"`, "further rules were not checked"}},
		"an item of another type":                 {external + "  endpoints: [1, {name: a, dns: {name: a.example.com, recordType: 5}}]\n", "", []string{"spec.endpoints[0]: must be an object", "recordType: must be a string", "further rules were not checked"}},
		"a comparison with what cannot be read":   {external + "  endpoints: [{name: a, addresses: [192.0.2.1]}]\n  healthCheck: {tcpSocket: {}, interval: 60, timeout: 20s}\n", "", []string{`write "60s"`}},
		"a tab":                                   {external + "\tendpoints: []\n", "", []string{"a tab indents this line, and YAML takes spaces alone [FL1002]"}},
		"a template":                              {external + "  endpoints:\n  {{- range .Values.all }}\n  - x\n  {{- end }}\n", "", []string{"looks like a Helm template"}},
		"a value that is a template":              {external + "  endpoints: {{ .Values.endpoints }}\n", "", []string{"looks like a Helm template"}},
		"a number that fits no field":             {strings.ReplaceAll(probed, "NAME", "99999999999"), "", []string{"spec.probe.failureThreshold: 99999999999: must be less than or equal to 100 [FL1211]"}},
		"a number above its bound, and any":       {strings.ReplaceAll(named, "port: 80", "port: 99999999999"), "a.example.com", []string{"spec.ports[0].port: 99999999999: must be less than or equal to 65535 [FL1211]"}},
		"a fraction":                              {strings.ReplaceAll(named, "port: 80", "port: 80.5"), "a.example.com", []string{"spec.ports[0].port: must be a whole number [FL1202]", "further rules were not checked"}},
		"a range to be looked up":                 {named, "10.0.0.0/24", []string{"must be a DNS name: a range cannot be looked up [FL1207]"}},
		"a path that looks like a range":          {named, "cafe/1", []string{"must be a DNS name: leave out scheme and path"}},
		"a default that follows from an error":    {strings.ReplaceAll(probed, "NAME", "-1"), "", []string{"spec.probe.failureThreshold"}},
	} {
		t.Run(name, func(t *testing.T) {
			content := strings.ReplaceAll(test.content, "NAME", test.value)
			_, found := vetText(t, content)
			for _, line := range found {
				if strings.Contains(line, "5 s") {
					continue
				}
				for _, leak := range []string{"^", "strconv", "evaluating rule", "chars long"} {
					if strings.Contains(line, leak) {
						t.Errorf("%s: %q is not for its reader", line, leak)
					}
				}
			}
			all := strings.Join(found, "\n")
			for _, want := range test.want {
				if !strings.Contains(all, want) {
					t.Errorf("nothing says %q:\n%s", want, all)
				}
			}
			if len(found) != len(test.want) {
				t.Errorf("%d findings, want %d:\n%s", len(found), len(test.want), all)
			}
		})
	}
}

func TestVetOfNothingIsNoSuccess(t *testing.T) {
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.yaml")
	if err := os.WriteFile(empty, []byte("# nothing yet\n---\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		stdin string
		args  []string
		code  int
	}{
		"an empty pipe":                 {"", []string{"-"}, 2},
		"an empty pipe beside a file":   {"", []string{"-", samples}, 2},
		"comments alone":                {"# Source: x\n---\n", []string{"-"}, 2},
		"an empty file":                 {"", []string{empty}, 2},
		"no file":                       {"", []string{os.DevNull}, 2},
		"an empty pipe that is allowed": {"", []string{"--allow-empty", "-"}, 0},
		"an empty file that is allowed": {"", []string{"--allow-empty", empty}, 0},
		"a list of nothing, as of get":  {"apiVersion: v1\nkind: List\nitems: []\n", []string{"-"}, 0},
		"another kind":                  {"apiVersion: v1\nkind: Secret\n", []string{"-"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			stdin, err := os.CreateTemp(folder, "stdin")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stdin.WriteString(test.stdin); err != nil {
				t.Fatal(err)
			}
			if _, err := stdin.Seek(0, 0); err != nil {
				t.Fatal(err)
			}
			before := os.Stdin
			os.Stdin = stdin
			defer func() { os.Stdin = before; _ = stdin.Close() }()
			code, stdout, stderr := runCommand(t, append([]string{"vet"}, test.args...)...)
			if code != test.code {
				t.Errorf("code %d, want %d\n%s%s", code, test.code, stdout, stderr)
			}
			if test.code == 2 && !strings.Contains(stderr, "nothing was read") {
				t.Errorf("stderr: %s", stderr)
			}
		})
	}
}

func TestVetPassesOverPatchesTemplatesAndWhatIsExcluded(t *testing.T) {
	t.Chdir(t.TempDir())
	patch := "apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: a}\nspec: {suspend: true}\n"
	for name, content := range map[string]string{
		"base/a.yaml":                    external + "  endpoints: [{name: a, addresses: [192.0.2.1]}]\n",
		"overlay/kustomization.yaml":     "patches:\n- path: patches/a.yaml\npatchesStrategicMerge: [b.yaml]\n",
		"overlay/patches/a.yaml":         patch,
		"overlay/b.yaml":                 patch,
		"charts/x/Chart.yaml":            "name: x\n",
		"charts/x/templates/a.yaml":      "{{ if true }}\n" + patch,
		"charts/x/templates/deep/a.yaml": patch,
		"testdata/bad.yaml":              patch,
		"ignored.yaml":                   "# fairlead:ignore\n" + patch,
		"above.yaml":                     "# fairlead:ignore\n---\n" + patch,
		"partly.yaml":                    "# fairlead:ignore FL1201\n" + patch,
		"line.yaml":                      strings.Replace(external, "port: 80}]", "port: 80}]\n  # fairlead:ignore FL1103", 1) + "  shade: red\n  endpoints: [{name: a, addresses: [192.0.2.1]}]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := runCommand(t, "vet", "--exclude=testdata", "--disable=duplicate-object", ".")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "5 files not read") || !strings.Contains(stdout, "2 documents ignored") {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
	// A pre-commit hook names each file.
	for _, name := range []string{"overlay/patches/a.yaml", "overlay/b.yaml", "charts/x/templates/deep/a.yaml"} {
		if code, stdout, stderr := runCommand(t, "vet", name); code != 0 {
			t.Errorf("%s: code %d\n%s%s", name, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"--exclude=**", "."}, {"charts/x/templates"}, {"--exclude=*.yaml", "base", "testdata"}} {
		if code, stdout, stderr := runCommand(t, append([]string{"vet"}, args...)...); code != 2 || !strings.Contains(stderr, "nothing was read: all ") || !strings.Contains(stderr, "--exclude") {
			t.Errorf("%v: code %d\n%s%s", args, code, stdout, stderr)
		}
		if code, stdout, stderr := runCommand(t, append([]string{"vet", "--allow-empty"}, args...)...); code != 0 {
			t.Errorf("%v, allowed: code %d\n%s%s", args, code, stdout, stderr)
		}
	}
	if code, stdout, stderr := runCommand(t, "vet", "--exclude=testdata", "testdata/bad.yaml"); code != 0 {
		t.Errorf("an excluded file that a hook names: code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, _ := runCommand(t, "vet", "testdata/bad.yaml"); code != 1 {
		t.Errorf("without --exclude: code %d\n%s", code, stdout)
	}
	if code, _, stderr := runCommand(t, "vet", "--disable=FL0000", "."); code != 2 || !strings.Contains(stderr, `no rule "FL0000"`) {
		t.Errorf("code %d, %s", code, stderr)
	}
	if code, _, stderr := runCommand(t, "vet", "--exclude=[", "."); code != 2 || !strings.Contains(stderr, "syntax error in pattern") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if code, stdout, stderr := runCommand(t, "vet", "-f", "base", "-R"); code != 0 || !strings.Contains(stdout, "1 object") {
		t.Errorf("-f: code %d\n%s%s", code, stdout, stderr)
	}
}

func TestVetOfAClusterWithoutAKubeconfigSaysWhereItLooked(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	code, stdout, stderr := runCommand(t, "vet", "--live")
	if code != 2 || stdout != "" || !strings.Contains(stderr, "there is no kubeconfig") || strings.Contains(stderr, "KUBERNETES_MASTER") {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestCommandLinesAreHelpedWith(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte(`{apiVersion: v1, kind: Config, contexts: [{name: production, context: {}}, {name: staging, context: {}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	plugin := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Execute(args, Options{Output: &out, Logs: &errs, Program: "kubectl fairlead"})
		return code, out.String(), errs.String()
	}
	for name, test := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"a slip":               {[]string{"versoin"}, 2, []string{"kubectl fairlead: unknown command \"versoin\"; did you mean \"version\"?\n"}}, //nolint:misspell // on purpose
		"--version":            {[]string{"--version"}, 0, []string{"fairlead "}},
		"groups":               {[]string{"--help"}, 0, []string{"Look:", "Act:", "Check:", "Move:", "Run:", "kubectl fairlead [command]"}},
		"examples as a plugin": {[]string{"vet", "--help"}, 0, []string{"  kubectl fairlead vet deploy/"}},
		"a flag as a plugin":   {[]string{"vet", "--fix"}, 2, []string{"kubectl fairlead: ", "`kubectl fairlead vet --help`"}},
		"formats":              {[]string{"__complete", "vet", "-o", ""}, 0, []string{"text\njson\nsarif\njunit\n"}},
		"rules":                {[]string{"__complete", "vet", "--disable", ""}, 0, []string{"FL1502\t"}},
		"contexts":             {[]string{"__complete", "vet", "--live", "--context", ""}, 0, []string{"production\nstaging\n"}},
		"formats of version":   {[]string{"__complete", "version", "-o", ""}, 0, []string{"text\njson\nyaml\n"}},
		"levels":               {[]string{"__complete", "manager", "--log-level", ""}, 0, []string{"error\ninfo\ndebug\n"}},
		"fields":               {[]string{"__complete", "manager", "--set", "webhook.tls."}, 0, []string{"webhook.tls.minVersion=VersionTLS12\nwebhook.tls.minVersion=VersionTLS13\nwebhook.tls.cipherSuites=\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := plugin(test.args...)
			if code != test.code {
				t.Errorf("code %d", code)
			}
			for _, want := range test.want {
				if !strings.Contains(stdout+stderr, want) {
					t.Errorf("nothing says %q:\n%s%s", want, stdout, stderr)
				}
			}
			if strings.Contains(stdout, "  fairlead vet") {
				t.Errorf("names another program:\n%s", stdout)
			}
		})
	}
}
