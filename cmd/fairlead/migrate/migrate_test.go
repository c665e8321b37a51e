// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/cluster"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// migrated returns what a peer makes of a text.
func migrated(t *testing.T, p *Peer, o Options, text string) (objects, plan string, result *Result) {
	t.Helper()
	result, err := p.Run(t.Context(), o, Files{Arguments: []string{files.Stdin}, Options: files.Options{Stdin: strings.NewReader(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return written(t, result.WriteObjects), written(t, result.WritePlan), result
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Whatever is wrong is named with its file, document, field and remedy, and nothing is written for it.
func TestBadInputIsRefusedWithItsPlaceAndRemedy(t *testing.T) {
	service := "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\nspec: {type: ExternalName, externalName: db.example.com, ports: %s}\n"
	for name, test := range map[string]struct {
		peer       *Peer
		text, want string
	}{
		"no YAML":              {externalName, "a: [\n", "stdin:1:1: document 1: document: not YAML"},
		"a template":           {externalName, "a: {{ .Values.b }}: [\n", "looks like a Helm template: give what `helm template` prints instead"},
		"a key twice":          {externalName, fmt.Sprintf(service, "[{port: 1, port: 2}]"), "stdin:4:76: document 1: Service shop/db: spec.ports[0].port: is given twice"},
		"a number as text":     {externalName, fmt.Sprintf(service, "[{port: a}]"), "spec.ports[0].port: must be a whole number"},
		"text as a number":     {externalName, fmt.Sprintf(service, "[{port: 1, name: 2}]"), "spec.ports[0].name: must be text; put it in quotes"},
		"no list":              {externalName, fmt.Sprintf(service, "{a: b}"), "spec.ports: must be a list"},
		"an object twice":      {externalName, fmt.Sprintf(service, "[{port: 1}]") + "---\n" + fmt.Sprintf(service, "[{port: 2}]"), "document 2: Service shop/db: is given twice, with other content, and the first was taken"},
		"what vet refuses":     {externalName, strings.Replace(fmt.Sprintf(service, "[{port: 1}]"), "name: db,", "name: "+strings.Repeat("a", 60)+",", 1), "which vet rejects: metadata.name"},
		"a name that is false": {externalName, strings.Replace(fmt.Sprintf(service, "[{port: 1}]"), "name: db,", "name: off,", 1), "metadata.name: must be text; put it in quotes"},
		"another annotation":   {reloader, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: r}\nspec: {template: {spec: {containers: [{image: reloader, args: [--auto-annotation=a]}]}}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, annotations: {reloader.stakater.com/auto: 'true'}}\n", "--auto-annotation gives an annotation another name"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, plan, result := migrated(t, test.peer, Options{}, test.text)
			joined := strings.Join(strings.Fields(plan), " ")
			if !strings.Contains(joined, strings.Join(strings.Fields(test.want), " ")) || !strings.Contains(plan, "Cannot be migrated:") {
				t.Errorf("the plan does not say %q:\n%s", test.want, plan)
			}
			if !result.Has(Refused) || strings.Contains(objects, "stdin") {
				t.Errorf("the output names a file, or nothing is refused:\n%s", objects)
			}
			if n := strings.Count(objects, "\nkind: "); n > strings.Count(test.want, "the first was taken") {
				t.Errorf("%d objects were written:\n%s", n, objects)
			}
		})
	}
}

// A change of the input after the objects were edited by hand is said, and not decided.
func TestAnotherSpecInTheInputIsNamed(t *testing.T) {
	text := "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\nspec: {type: ExternalName, externalName: db.example.com, ports: [{port: 5432}]}\n"
	objects, _, _ := migrated(t, externalName, Options{}, text)
	again, plan, _ := migrated(t, externalName, Options{}, text+objects)
	if again != objects || strings.Contains(plan, "another spec") {
		t.Errorf("over its own output:\n%s\n%s", again, plan)
	}
	edited := strings.Replace(objects, "port: 5432", "port: 5433", 1)
	again, plan, _ = migrated(t, externalName, Options{}, text+edited)
	if again != objects || !strings.Contains(plan, "In the input already:\n  stdin:7:1: document 2: ExternalService shop/db: is in the input with another spec") {
		t.Errorf("over an edited output:\n%s\n%s", again, plan)
	}
}

// server has objects as an API server lists them: without their kinds.
type server map[string]string

func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if body, has := s[r.URL.Path]; has && r.Method == http.MethodGet {
		_, _ = io.WriteString(w, body)
		return
	}
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"you may not"}`)
}

func (s server) run(t *testing.T, p *Peer, namespace string) (*Result, error) {
	t.Helper()
	listening := httptest.NewServer(s)
	defer listening.Close()
	c, err := cluster.New(cluster.Options{Config: &rest.Config{Host: listening.URL}, Name: "production", Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	return p.Run(t.Context(), Options{}, Cluster{c})
}

func TestAClusterIsReadWithTheRightsOfTheUser(t *testing.T) {
	const list = `{"metadata":{},"items":[%s]}`
	service := `{"metadata":{"name":"db","namespace":"shop","uid":"a","managedFields":[]},"spec":{"type":"ExternalName","externalName":"db.example.com","ports":[{"port":1}],"sessionAffinity":"None"},"status":{"loadBalancer":{}}}`
	result, err := server{"/api/v1/namespaces/shop/services": fmt.Sprintf(list, service)}.run(t, externalName, "shop")
	if err != nil {
		t.Fatal(err)
	}
	objects, plan := written(t, result.WriteObjects), written(t, result.WritePlan)
	if !strings.Contains(objects, "name: db.example.com") || result.Has(Lost, Refused) {
		t.Errorf("%s\n%s", objects, plan)
	}
	if _, err := (server{}).run(t, externalName, ""); err == nil || !strings.Contains(err.Error(), "list services: you may not") {
		t.Errorf("without rights: %v", err)
	}
	// What is optional is named where it cannot be read, and a ConfigMap is asked for by its name.
	result, err = server{
		"/apis/apps/v1/deployments": fmt.Sprintf(list, `{"metadata":{"name":"r","namespace":"ops"},"spec":{"template":{"spec":{"containers":[{"image":"reloader","envFrom":[{"configMapRef":{"name":"c"}}]}]}}}},`+
			`{"metadata":{"name":"api","namespace":"shop","annotations":{"reloader.stakater.com/auto":"true"}},"spec":{"template":{"spec":{"containers":[{"image":"a"}]}}}}`),
		"/apis/apps/v1/statefulsets":          fmt.Sprintf(list, ""),
		"/apis/apps/v1/daemonsets":            fmt.Sprintf(list, ""),
		"/api/v1/namespaces/ops/configmaps/c": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"ops"},"data":{}}`,
	}.run(t, reloader, "")
	if err != nil {
		t.Fatal(err)
	}
	if plan = written(t, result.WritePlan); !strings.Contains(plan, "production: cronjobs: could not be read, and was not taken into account: you may not") || strings.Contains(plan, "ConfigMap ops/c") {
		t.Error(plan)
	}
}

func TestTheFieldsOfAServiceAreCarriedOver(t *testing.T) {
	service := `{"metadata":{"name":"db","namespace":"shop","annotations":{"example.com/owner":"a","meta.helm.sh/release-name":"b","external-dns.alpha.kubernetes.io/hostname":"c"}},` +
		`"spec":{"type":"ExternalName","externalName":"db.example.com","ports":[{"port":1}],"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":600}},` +
		`"ipFamilies":["IPv6","IPv4"],"ipFamilyPolicy":"PreferDualStack","trafficDistribution":"PreferClose","internalTrafficPolicy":"Local","publishNotReadyAddresses":true}}`
	result, err := server{"/api/v1/namespaces/shop/services": fmt.Sprintf(`{"metadata":{},"items":[%s]}`, service)}.run(t, externalName, "shop")
	if err != nil {
		t.Fatal(err)
	}
	objects, plan := written(t, result.WriteObjects), written(t, result.WritePlan)
	for _, want := range []string{"example.com/owner: a", "sessionAffinity: ClientIP", "sessionAffinityTimeout: 10m", "- IPv6", "ipFamilyPolicy: PreferDualStack", "trafficDistribution: PreferClose"} {
		if !strings.Contains(objects, want) {
			t.Errorf("lacks %q:\n%s", want, objects)
		}
	}
	for _, lost := range []string{"external-dns.alpha.kubernetes.io/hostname]: is reserved", "internalTrafficPolicy: has no effect", "publishNotReadyAddresses: has no effect"} {
		if !strings.Contains(strings.Join(strings.Fields(plan), " "), lost) {
			t.Errorf("does not say %q:\n%s", lost, plan)
		}
	}
	if strings.Contains(objects, "meta.helm.sh") || strings.Contains(plan, "sessionAffinity") || result.Has(Refused) {
		t.Errorf("%s\n%s", objects, plan)
	}
}

// The annotations of Secrets count for Reloader, and their data is not asked for.
func TestOfSecretsTheMetadataAloneIsRead(t *testing.T) {
	const list = `{"metadata":{},"items":[%s]}`
	workload := `{"metadata":{"name":"api","namespace":"shop","annotations":{"reloader.stakater.com/search":"true"}},"spec":{"template":{"spec":{"containers":[{"name":"a","volumeMounts":[{"name":"v"}]}],"volumes":[{"name":"v","secret":{"secretName":"login"}}]}}}}`
	secrets := 0
	s := server{
		"/apis/apps/v1/deployments": fmt.Sprintf(list, workload), "/apis/apps/v1/statefulsets": fmt.Sprintf(list, ""),
		"/apis/apps/v1/daemonsets": fmt.Sprintf(list, ""), "/apis/batch/v1/cronjobs": fmt.Sprintf(list, ""),
		"/api/v1/namespaces/shop/secrets/login": `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"login","namespace":"shop","annotations":{"reloader.stakater.com/match":"true"}}}`,
	}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/secrets") {
			secrets++
			if !strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") || strings.HasSuffix(r.URL.Path, "/secrets") {
				t.Errorf("it asks for %s, %s", r.URL, r.Header.Get("Accept"))
			}
		}
		s.ServeHTTP(w, r)
	}))
	defer listening.Close()
	c, err := cluster.New(cluster.Options{Config: &rest.Config{Host: listening.URL}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := reloaderPerWorkload.Run(t.Context(), Options{}, Cluster{c})
	if err != nil {
		t.Fatal(err)
	}
	if objects := written(t, result.WriteObjects); secrets != 1 || !strings.Contains(objects, "kind: Secret\n        name: login") {
		t.Errorf("%d requests: %s%s", secrets, objects, written(t, result.WritePlan))
	}
}

// Where a user may not read sources one by one, that is said once.
func TestWhatMayNotBeReadIsNamedOnce(t *testing.T) {
	const list = `{"metadata":{},"items":[%s]}`
	var volumes []string
	for i := range 40 {
		volumes = append(volumes, fmt.Sprintf(`{"name":"v%d","secret":{"secretName":"s%d"}}`, i, i))
	}
	workload := `{"metadata":{"name":"api","namespace":"shop","annotations":{"reloader.stakater.com/auto":"true"}},"spec":{"template":{"spec":{"volumes":[` + strings.Join(volumes, ",") + `]}}}}`
	result, err := server{"/apis/apps/v1/deployments": fmt.Sprintf(list, workload), "/apis/apps/v1/statefulsets": fmt.Sprintf(list, ""),
		"/apis/apps/v1/daemonsets": fmt.Sprintf(list, ""), "/apis/batch/v1/cronjobs": fmt.Sprintf(list, "")}.run(t, reloaderPerWorkload, "")
	if err != nil {
		t.Fatal(err)
	}
	if plan := written(t, result.WritePlan); strings.Count(plan, "Secret shop/*: could not be read") != 1 || strings.Contains(plan, "shop/s1") {
		t.Error(plan)
	}
}

// An output that is read from a folder beside the manifests is the same as one from a pipe.
func TestTheOutputNamesNoFile(t *testing.T) {
	text := "apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop, annotations: {external-dns.alpha.kubernetes.io/hostname: b}}\nspec: {type: ExternalName, externalName: db.example.com, ports: [{port: 5432}]}\n"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	piped, _, _ := migrated(t, externalName, Options{}, "# a comment\n---\na: b\n---\n"+text)
	result, err := externalName.Run(t.Context(), Options{}, Files{Arguments: []string{folder}})
	if err != nil {
		t.Fatal(err)
	}
	if found := written(t, result.WriteObjects); found != piped || !strings.Contains(found, "# Not carried over: metadata.annotations[external-dns.alpha.kubernetes.io/hostname]: ") {
		t.Errorf("%s\n%s", piped, found)
	}
}
