"use strict";
(() => {
const get = id => document.getElementById(id);
const data = JSON.parse(get("data").textContent);
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer;
const floats = text => new Float32Array(bytes(text)), doubles = text => new Float64Array(bytes(text));
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const made = (tag, kind, ...inside) => { const e = document.createElement(tag); if (kind) e.className = kind; e.append(...inside); return e; };
const dot = colour => { const e = made("i", "dot"); e.style.background = colour; return e; };
const T = doubles(data.t), first = T[0], last = T[T.length - 1], length = last - first || 1;
const joints = data.joints, shown = joints.map(joint => joint.driven);
const named = ["#2563eb", "#d9480f", "#0f9d58", "#a21caf", "#b8860b", "#0891b2"];

function short(x) {
  if (x === null || !isFinite(x)) return "-";
  const a = Math.abs(x);
  if (a < 1e-14) return "0";
  return a >= 1e5 || a < 1e-3 ? x.toExponential(2).replace("e+", "e").replace(/\.?0+e/, "e") : String(+x.toPrecision(4));
}
function place(times, t) {  // the last time that is not after t
  let i = 0, j = times.length - 1;
  while (i < j) { const m = (i + j + 1) >> 1; times[m] <= t ? i = m : j = m - 1; }
  return i;
}
function nearest(t) { const i = place(T, t); return i + 1 < T.length && T[i + 1] - t < t - T[i] ? i + 1 : i; }

// ---------------------------------------------------------------- the robot

function world(picture, box) {
  const size = picture.size, times = doubles(picture.t), count = picture.links, poses = floats(picture.poses);
  const ghosts = picture.ghost ? floats(picture.ghost) : null;
  const scene = new THREE.Scene(), camera = new THREE.PerspectiveCamera(32, 1, size / 100, size * 100);
  // up is against gravity: the plane z = floor is a floor, or else a wall or a ceiling
  const [right, toward, up] = picture.directions.map(v => new THREE.Vector3(...v)), out = new THREE.Vector3(0, 0, 1);
  camera.up.copy(up);
  const from = (x, y, z) => new THREE.Vector3().addScaledVector(right, x).addScaledVector(toward, y).addScaledVector(up, z);
  let renderer;
  try { renderer = new THREE.WebGLRenderer({antialias: true, alpha: true, preserveDrawingBuffer: true}); }  // kept for print and PNG
  catch { box.append(made("p", "", "This browser draws no 3D pictures (WebGL is off); curves and table are complete.")); return null; }
  renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
  renderer.shadowMap.enabled = true;
  box.append(renderer.domElement);

  // shapes in the frames of their links
  const geometries = picture.meshes.map(geometry);
  const matrix = rows => new THREE.Matrix4().set(...rows);
  const still = new THREE.Group(), links = Array.from({length: count}, () => new THREE.Group());
  const ghost = ghosts ? links.map(() => new THREE.Group()) : [];
  still.matrixAutoUpdate = false; still.matrix.copy(matrix(picture.base)); scene.add(still, ...links, ...ghost);
  for (const group of [...links, ...ghost]) group.matrixAutoUpdate = false;
  const reach = links.map(() => []), veil = new THREE.MeshStandardMaterial({color: css("--accent"), transparent: true, opacity: .22, depthWrite: false});
  const held = [];  // payloads, which are carried for a time only
  for (const shape of picture.shapes) {
    const form = "mesh" in shape ? geometries[shape.mesh] : solid(shape.kind, shape.sizes);
    const part = new THREE.Mesh(form, material(shape, form, shape.link < 0 ? null : picture.joints[shape.link].joint));
    part.castShadow = part.receiveShadow = true; part.matrixAutoUpdate = false; part.matrix.copy(matrix(shape.pose));
    (shape.link < 0 ? still : links[shape.link]).add(part);
    if ("from" in shape) held.push({part, from: shape.from, to: shape.to});
    form.computeBoundingSphere();
    const ball = form.boundingSphere.clone().applyMatrix4(part.matrix);
    if (shape.link < 0) ball.applyMatrix4(still.matrix);
    (shape.link < 0 ? (reach.base ||= []) : reach[shape.link]).push(ball);
    if (ghosts && shape.link >= 0) { const twin = new THREE.Mesh(form, veil); twin.matrixAutoUpdate = false; twin.matrix.copy(part.matrix); ghost[shape.link].add(twin); }
  }
  if (!picture.generated) picture.joints.forEach(({joint, kind}, i) => { if (joint >= 0 && kind !== "free") links[i].add(ring(joint, kind)); });

  function geometry(mesh) {
    const whole = new Uint16Array(bytes(mesh.vertices)), n = whole.length / 3, at = new Float32Array(3 * n), made = new THREE.BufferGeometry();
    for (let i = 0; i < at.length; i++) at[i] = mesh.low[i % 3] + whole[i] * mesh.step[i % 3];
    made.setAttribute("position", new THREE.BufferAttribute(at, 3));
    if (mesh.colours) {
      const given = new Uint8Array(bytes(mesh.colours)), linear = new Float32Array(3 * n), c = new THREE.Color();
      for (let i = 0; i < n; i++) { c.setRGB(given[3 * i] / 255, given[3 * i + 1] / 255, given[3 * i + 2] / 255, THREE.SRGBColorSpace); linear.set([c.r, c.g, c.b], 3 * i); }
      made.setAttribute("color", new THREE.BufferAttribute(linear, 3));
    }
    const faces = bytes(mesh.faces);
    made.setIndex(new THREE.BufferAttribute(mesh.wide ? new Uint32Array(faces) : new Uint16Array(faces), 1));
    return THREE.toCreasedNormals(made, 0.6);
  }
  function solid(kind, s) {
    const upright = g => g.rotateX(Math.PI / 2);  // three.js has them along y
    if (kind === "box") return new THREE.BoxGeometry(...s);
    if (kind === "cylinder") return upright(new THREE.CylinderGeometry(s[0], s[0], s[1], 48));
    if (kind === "capsule") return upright(new THREE.CapsuleGeometry(s[0], s[1], 12, 40));
    if (kind === "sphere") return new THREE.SphereGeometry(s[0], 40, 24);
    return new THREE.SphereGeometry(1, 40, 24).scale(...s);
  }
  function material(shape, form, joint) {
    const look = new THREE.MeshStandardMaterial({roughness: .52, metalness: .08});
    if (shape.joint && joint >= 0) look.color.set(joints[joint].colour);
    else if (form.getAttribute("color")) look.vertexColors = true;
    else if (shape.rgba) look.color.setRGB(shape.rgba[0], shape.rgba[1], shape.rgba[2], THREE.SRGBColorSpace);
    else look.color.set("#c8ced8");
    if (shape.rgba && shape.rgba[3] < 1) { look.transparent = true; look.opacity = Math.max(shape.rgba[3], .1); }
    return look;
  }
  function ring(joint, kind) {  // in front of a mesh, which would hide it
    const look = new THREE.MeshBasicMaterial({color: joints[joint].colour, transparent: true, opacity: .85, depthTest: false});
    const form = kind === "prismatic" ? new THREE.CylinderGeometry(.006 * size, .006 * size, .12 * size, 12).rotateX(Math.PI / 2) : new THREE.TorusGeometry(.045 * size, .0045 * size, 10, 48);
    const part = new THREE.Mesh(form, look); part.renderOrder = 5;
    return part;
  }

  // the spheres around all shapes over time: they set the view and the size of the floor
  const one = new THREE.Vector3(), two = new THREE.Vector3(), turn = new THREE.Quaternion(), then = new THREE.Quaternion(), unit = new THREE.Vector3(1, 1, 1);
  function put(matrix, from, i, t) {
    const k = place(times, t), next = Math.min(k + 1, times.length - 1), a = 7 * (k * count + i), b = 7 * (next * count + i);
    const part = next > k ? Math.min(Math.max((t - times[k]) / (times[next] - times[k]), 0), 1) : 0;
    one.fromArray(from, a).lerp(two.fromArray(from, b), part);
    turn.fromArray(from, a + 3).slerp(then.fromArray(from, b + 3), part);
    return matrix.compose(one, turn, unit);
  }
  const base = new THREE.Vector3().setFromMatrixPosition(still.matrix), foot = new THREE.Vector3(base.x, base.y, picture.floor);
  const centres = [], balls = (reach.base || []).map(ball => [ball.center.clone(), ball.radius]), matrix4 = new THREE.Matrix4();
  const seen = (spot, radius) => { if (spot.distanceTo(base) < 1e3 * size) balls.push([spot, radius]); };  // without shapes that have moved far away
  for (let k = 0; k < times.length; k += Math.max(1, Math.floor(times.length / 60)))
    for (let i = 0; i < count; i++) {
      put(matrix4, poses, i, times[k]); centres.push(matrix4.elements[14]);
      if (!reach[i].length) seen(new THREE.Vector3().setFromMatrixPosition(matrix4), 0);
      for (const ball of reach[i]) seen(ball.center.clone().applyMatrix4(matrix4), ball.radius);
    }
  if (!balls.length) balls.push([base, size]);
  const travels = picture.free && balls.some(([c]) => c.distanceTo(balls[0][0]) > 3 * size);
  const most = (least, measure) => balls.reduce((found, [c, r]) => Math.max(found, measure(c, r)), least);
  const tall = most(size, (c, r) => Math.abs(c.z - base.z) + r), wide = most(.3 * size, (c, r) => Math.hypot(c.x - foot.x, c.y - foot.y) + r);

  // the floor with a scale; axes and a column where the robot stands
  const raw = wide / 4, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map(k => k * power).find(s => s >= raw * .999);
  const edge = (Math.ceil(wide / step) + 1) * step, floor = new THREE.Group(), signs = new THREE.Group(), ends = [], fading = [];
  const fx = Math.round(foot.x / step) * step, fy = Math.round(foot.y / step) * step, cells = Math.round(edge / step);
  const faint = (x, y) => { const r = Math.min(Math.hypot(x, y) / cells, 1); return (1 - r * r) ** 1.5; };
  const grid = new THREE.LineBasicMaterial({transparent: true, vertexColors: true, depthWrite: false}), lines = new THREE.BufferGeometry();
  for (let i = -cells; i <= cells; i++)
    for (let j = -cells; j < cells; j++)
      for (const [a, b] of [[[i, j], [i, j + 1]], [[j, i], [j + 1, i]]])
        for (const [x, y] of [a, b]) { ends.push(fx + x * step, fy + y * step, foot.z); fading.push(1, 1, 1, faint(x, y)); }
  lines.setAttribute("position", new THREE.BufferAttribute(new Float32Array(ends), 3));
  lines.setAttribute("color", new THREE.BufferAttribute(new Float32Array(fading), 4));
  const flat = new THREE.CircleGeometry(edge, 64), shade = new THREE.Mesh(flat, new THREE.ShadowMaterial({opacity: .18}));
  shade.position.set(fx, fy, foot.z - 1e-4 * size); shade.receiveShadow = true;
  const solidFloor = centres.every(z => z > foot.z - .02 * size), ground = new THREE.MeshBasicMaterial({transparent: true, opacity: .92});
  if (solidFloor) { const plane = new THREE.Mesh(flat, ground); plane.position.set(fx, fy, foot.z - 2e-3 * size); plane.renderOrder = -2; floor.add(plane); }
  floor.add(new THREE.LineSegments(lines, grid), shade); scene.add(floor, signs);
  get("scale").textContent = `one square is ${short(step)} m` + (foot.z ? `, at z = ${short(+foot.z.toPrecision(3))} m` : "");

  const own = picture.generated && !picture.free, stand = own ? base : foot;  // a mesh would hide arrows that begin inside of it
  const red = "#dc3545", green = "#2f9e44", blue = "#2f6fde";
  [[1, 0, 0, red, "x"], [0, 1, 0, green, "y"], [0, 0, 1, blue, "z"]].forEach(([x, y, z, colour, name]) => {
    const arm = new THREE.Group(), far = .26 * size, thick = .006 * size, look = new THREE.MeshBasicMaterial({color: colour, depthTest: own, transparent: !own});
    const rod = new THREE.Mesh(new THREE.CylinderGeometry(thick, thick, far, 12).translate(0, far / 2, 0), look);
    const tip = new THREE.Mesh(new THREE.ConeGeometry(2.6 * thick, 7 * thick, 16).translate(0, far, 0), look);
    arm.add(rod, tip); arm.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), new THREE.Vector3(x, y, z)); arm.position.copy(stand);
    const sign = label(name, colour, .055 * size); sign.material.depthTest = false; sign.position.set(x, y, z).multiplyScalar(far + .055 * size).add(stand);
    scene.add(arm, sign);
  });
  if (!picture.free && !(reach.base && !picture.generated) && Math.abs(base.z) > .01 * size) {
    const column = new THREE.Mesh(new THREE.CylinderGeometry(.05 * size, .06 * size, Math.abs(base.z), 40).rotateX(Math.PI / 2),
      new THREE.MeshStandardMaterial({color: "#8d97a6", roughness: .7, transparent: base.z < 0, opacity: base.z < 0 ? .3 : 1}));
    const plate = new THREE.Mesh(new THREE.CylinderGeometry(.11 * size, .11 * size, .012 * size, 48).rotateX(Math.PI / 2), column.material);
    column.position.set(base.x, base.y, base.z / 2); plate.position.set(base.x, base.y, .006 * size);
    for (const part of [column, plate]) part.castShadow = part.receiveShadow = true;
    scene.add(column, plate);
  }
  function label(text, colour, height) {
    const canvas = document.createElement("canvas"), g = canvas.getContext("2d"), font = "600 44px system-ui, sans-serif";
    g.font = font; canvas.width = Math.ceil(g.measureText(text).width) + 12; canvas.height = 56;
    g.font = font; g.fillStyle = colour; g.textBaseline = "middle"; g.fillText(text, 6, 30);
    const map = new THREE.CanvasTexture(canvas); map.colorSpace = THREE.SRGBColorSpace;
    const sign = new THREE.Sprite(new THREE.SpriteMaterial({map, transparent: true, depthWrite: false}));
    sign.scale.set(height * canvas.width / canvas.height, height, 1);
    return sign;
  }

  // the path of the tool: faint as a whole, clear up to the present time
  const tracks = picture.tracks.map(([link, ...spot]) => {
    const points = [];
    for (const t of times) points.push(...new THREE.Vector3(...spot).applyMatrix4(put(matrix4, poses, link, t)).toArray());
    for (let k = 0; k < points.length; k += 30) seen(new THREE.Vector3().fromArray(points, k), .01 * size);
    const drawn = width => {
      const line = new THREE.Line2(new THREE.LineGeometry(), new THREE.LineMaterial({color: "#e8710a", linewidth: width}));
      if (times.length > 1 && points.every(x => Math.abs(x) < 1e6 * size)) line.geometry.setPositions(points); else line.visible = false;
      scene.add(line); return line;
    };
    return {whole: drawn(2), gone: drawn(2.8)};
  });

  // light from above and from behind the viewer
  const sun = new THREE.DirectionalLight("#ffffff", 2.2), fill = new THREE.DirectionalLight("#dfe8ff", .6), middle = new THREE.Vector3();
  const sky = new THREE.HemisphereLight("#ffffff", "#8f97a6", 1.35); sky.position.copy(up);
  scene.add(sky, sun, sun.target, fill, fill.target);
  sun.castShadow = true; sun.shadow.mapSize.set(2048, 2048); sun.shadow.bias = -2e-4; sun.shadow.normalBias = .004 * size; sun.shadow.radius = 5;
  const span = Math.max(wide, travels ? 2 * size : .6 * tall) * 1.3;
  Object.assign(sun.shadow.camera, {left: -span, right: span, top: span, bottom: -span, near: .01 * size, far: 8 * span});

  const controls = new THREE.OrbitControls(camera, renderer.domElement);
  renderer.domElement.style.touchAction = "pan-y";  // so that the page can be scrolled on a phone
  const ways = {whole: [1, 1.45, up.z < -.7 ? -.5 : .72], front: [1, 0, .06], side: [0, 1, .06], top: [0, .001, 1]};
  let way = "whole", follow = travels, moved = false, framing = false, now = first;
  function frame() {  // the closest position of the camera with everything in view
    const look = from(...ways[way]).normalize().negate(), right = new THREE.Vector3().crossVectors(look, camera.up).normalize();
    const above = get("tools").offsetHeight + 14, below = get("scale").parentElement.offsetHeight + 10, high = Math.max(box.clientHeight, 2 * (above + below));  // the controls over the picture
    const up = new THREE.Vector3().crossVectors(right, look), half = Math.tan(camera.fov * Math.PI / 360), tall = half * .97 * (1 - (above + below) / high), broad = half * .86 * camera.aspect;
    const all = follow ? around() : [...balls, [foot, .2 * size]];
    const to = all.reduce((sum, [c]) => sum.add(c), new THREE.Vector3()).multiplyScalar(1 / all.length);
    let far = size;
    for (let k = 0; k < 12; k++) {
      let l = Infinity, r = -Infinity, b = Infinity, t = -Infinity, need = 0;
      for (const [c, radius] of all) {
        const d = one.copy(c).sub(to), x = d.dot(right), y = d.dot(up), z = d.dot(look), depth = far + z;
        l = Math.min(l, (x - radius) / depth); r = Math.max(r, (x + radius) / depth);
        b = Math.min(b, (y - radius) / depth); t = Math.max(t, (y + radius) / depth);
        need = Math.max(need, (Math.abs(x) + radius) / broad - z, (Math.abs(y) + radius) / tall - z);
      }
      if (k < 11) to.addScaledVector(right, far * (l + r) / 2).addScaledVector(up, far * (b + t) / 2);
      far = Math.max(need, .1 * size);
    }
    to.addScaledVector(up, far * half * (above - below) / high);
    framing = true; controls.target.copy(to); camera.position.copy(to).addScaledVector(look, -far); controls.update(); framing = false;
    middle.copy(links[0] && follow ? one.setFromMatrixPosition(links[0].matrix) : to);
  }
  function around() {  // of a robot that travels, only its present shapes are in view
    const found = [];
    links.forEach((link, i) => { for (const ball of reach[i]) found.push([ball.center.clone().applyMatrix4(link.matrix), ball.radius]); });
    return found.length ? found : [[base, size]];
  }
  let wanted = false;
  function render() { if (!wanted) { wanted = true; requestAnimationFrame(() => { wanted = false; draw(); }); } }
  function draw() {
    sun.target.position.copy(middle); sun.position.copy(middle).add(one.copy(from(.5, .75, .6)).add(out).normalize().multiplyScalar(3.5 * span));
    fill.target.position.copy(controls.target); fill.position.copy(camera.position);
    renderer.render(scene, camera);
  }
  function at(t) {
    now = t; const before = one.setFromMatrixPosition(links[0].matrix).clone();
    links.forEach((link, i) => put(link.matrix, poses, i, t)); ghost.forEach((link, i) => put(link.matrix, ghosts, i, t));
    if (follow) { const shift = one.setFromMatrixPosition(links[0].matrix).sub(before); camera.position.add(shift); controls.target.add(shift); middle.add(shift); controls.update(); }
    for (const {part, from, to} of held) part.visible = t >= from && t <= to;
    for (const {gone} of tracks) gone.geometry.instanceCount = place(times, t + 1e-9 * length);
    render();
  }
  function theme() {
    grid.color.set(css("--ground")); for (const {whole} of tracks) whole.material.color.set(css("--faint")); veil.color.set(css("--accent")); signs.clear();
    ground.color.set(css("--sky"));
    const ink = css("--soft"), every = cells > 5 ? 2 : 1;
    for (let k = every; k < cells; k += every)
      for (const [x, y, value] of [[fx + k * step, fy - step, fx + k * step], [fx - step, fy + k * step, fy + k * step]]) {
        const sign = label(short(+value.toFixed(9)), ink, .036 * Math.max(size, wide)); sign.position.set(x, y, foot.z + .5 * sign.scale.y);  signs.add(sign);
      }
    render();
  }
  function resize() {
    const w = box.clientWidth, h = box.clientHeight; if (!w || !h) return;
    renderer.setSize(w, h, false); renderer.domElement.style.width = w + "px"; renderer.domElement.style.height = h + "px";
    camera.aspect = w / h; camera.updateProjectionMatrix();
    for (const {whole, gone} of tracks) for (const line of [whole, gone]) line.material.resolution.set(w, h);
    if (!moved) frame(); draw();
  }
  const paper = made("canvas", "paper");  // a copy for printers, which do not wait for WebGL
  box.append(paper);
  function print() {
    Object.assign(paper, {width: 1400, height: 700});
    const ratio = renderer.getPixelRatio(), aspect = camera.aspect;
    renderer.setPixelRatio(1); renderer.setSize(1400, 700, false); camera.aspect = 2; camera.updateProjectionMatrix();
    if (!moved) frame();
    ground.color.set("#ffffff"); draw(); paper.getContext("2d").drawImage(renderer.domElement, 0, 0, 1400, 700);
    renderer.setPixelRatio(ratio); camera.aspect = aspect; resize();
  }
  controls.addEventListener("change", () => { if (!framing) render(); });
  controls.addEventListener("start", () => { moved = true; });
  document.querySelectorAll("#tools [data-view]").forEach(button => button.addEventListener("click", () => { way = button.dataset.view; moved = false; frame(); render(); }));
  toggle("Path", tracks.length > 0, true, on => tracks.forEach(({whole, gone}) => { whole.visible = gone.visible = on; }));
  toggle("Reference", ghosts !== null, true, on => ghost.forEach(link => { link.visible = on; }));
  toggle("Follow", picture.free, follow, on => { follow = on; moved = false; frame(); });
  function toggle(name, there, on, act) {
    if (!there) return;
    const button = made("button", "", name); button.setAttribute("aria-pressed", on);
    button.addEventListener("click", () => { on = !on; button.setAttribute("aria-pressed", on); act(on); render(); });
    get("tools").append(button);
  }
  links.forEach((link, i) => put(link.matrix, poses, i, first));
  new ResizeObserver(resize).observe(box); resize(); theme(); at(first);
  return {at, theme, draw, print, links, camera, canvas: renderer.domElement};
}

// ---------------------------------------------------------------- the curves

const charts = data.charts.map(chart => {
  const all = floats(chart.curves), n = all.length / T.length, cut = values => Array.from({length: n}, (_, i) => Array.from(values.subarray(i * T.length, (i + 1) * T.length), y => isFinite(y) ? y : null));
  const read = made("div", "read"), plots = made("div", "plots"), box = made("section", "panel chart"), units = made("span", "soft", " " + chart.unit);
  const title = made("h2", "", chart.title), head = made("div", "head", title); title.append(units); box.append(head, read, plots); get("charts").append(box);
  const curves = cut(all), names = chart.joint ? joints.map(j => j.name) : chart.names, colours = chart.joint ? joints.map(j => j.colour) : named;
  const values = curves.map((_, i) => { const b = made("b"), span = made("span", "", dot(colours[i]), names[i] + " ", b); read.append(span); return {span, b}; });
  return {...chart, curves, dashed: chart.dashed ? cut(floats(chart.dashed)) : [], limits: chart.limits || [], names, colours, read, values, plots, units, box, ups: [], small: []};
});
const peak = curve => curve.reduce((m, y) => y === null ? m : Math.max(m, Math.abs(y)), 0);
let mode = "together", zoom = null;

function shared(chart, i) {  // the share of the limit for a value, or of the peak without a limit
  const limit = chart.limits[i], top = peak(chart.curves[i]) || 1, [middle, half] = limit ? [(limit[0] + limit[1]) / 2, (limit[1] - limit[0]) / 2 || 1] : [0, top];
  return y => y === null ? null : 100 * (y - middle) / half;
}
function bounds(chart, list, scale) {  // the range of a chart: curves, and limits close to them
  let low = Infinity, high = -Infinity;
  for (const i of list) {
    if (chart.joint && !shown[i]) continue;
    let a = Infinity, b = -Infinity;
    for (const curve of [chart.curves[i], chart.dashed[i] || []]) for (const raw of curve) if (raw !== null) { const y = scale(i)(raw); if (y < a) a = y; if (y > b) b = y; }
    const limit = chart.limits[i];
    if (limit) {
      const [l, h] = limit.map(scale(i)), c = (l + h) / 2;
      if (b - c >= .5 * (h - c)) b = Math.max(b, h); if (c - a >= .5 * (c - l)) a = Math.min(a, l);
    }
    low = Math.min(low, a); high = Math.max(high, b);
  }
  if (!isFinite(low)) return [-1, 1];
  if (high - low < 1e-12 * Math.max(Math.abs(high), Math.abs(low), 1e-300)) { const pad = Math.abs(low) * .1 || 1; return [low - pad, high + pad]; }
  const pad = (high - low) * .06; return [low - pad, high + pad];
}
function plot(chart, list, into, height, minor) {
  const share = mode === "share" && chart.joint, scale = share ? i => shared(chart, i) : () => y => y;
  const series = [{}], columns = [T];
  for (const [source, dash] of [[chart.dashed, [3, 4]], [chart.curves, null]])
    for (const i of list) if (source[i]) {
      columns.push(share ? source[i].map(scale(i)) : source[i]);
      series.push({joint: i, stroke: chart.colours[i], width: dash ? 1.3 : 1.8, dash, show: !chart.joint || shown[i], points: {show: false}, spanGaps: false, pxAlign: 0, alpha: dash ? .75 : 1});
    }
  const axis = {stroke: () => css("--soft"), font: "12px system-ui, sans-serif", grid: {stroke: () => css("--line"), width: 1}, ticks: {show: false}};
  const plain = (u, splits) => splits.map(y => y === null ? "" : short(y) + (share ? " %" : ""));
  const options = {
    width: Math.max(into.clientWidth, 80), height, legend: {show: false}, focus: {alpha: .2}, padding: [8, 16, 0, 0],
    cursor: {x: false, y: false, points: {show: false}, drag: {x: true, y: false, setScale: false, dist: 6}},
    scales: {x: {time: false, range: () => zoom || [first, last === first ? first + 1 : last]}, y: {range: () => bounds(chart, list, scale)}},
    axes: [{...axis, size: 26, gap: 4, space: minor ? 44 : 70, values: (u, s) => s.map(x => short(x) + (minor ? "" : " s"))}, {...axis, size: minor ? 46 : 60, gap: 5, space: minor ? 26 : 32, values: plain}],
    series, hooks: {draw: [u => marks(u, chart, list, scale)], setSelect: [u => { if (u.select.width > 6) enlarge([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]); u.setSelect({left: 0, width: 0, top: 0, height: 0}, false); }]},
  };
  const u = new uPlot(options, columns, into), needle = made("div", "needle");
  u.over.append(needle); u.needle = needle;
  const point = e => { if (!playing) go(u.posToVal(e.clientX - u.over.getBoundingClientRect().left, "x"), true); };
  u.over.addEventListener("pointermove", point); u.over.addEventListener("pointerdown", point);
  u.over.addEventListener("dblclick", () => enlarge(null));
  return u;
}
function marks(u, chart, list, scale) {  // limits and events
  const g = u.ctx, {left, top, width, height} = u.bbox, ratio = uPlot.pxRatio;
  g.save(); g.beginPath(); g.rect(left, top, width, height); g.clip(); g.lineWidth = 1.2 * ratio;
  const line = (x0, y0, x1, y1) => { g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1, y1); g.stroke(); };
  g.setLineDash([9 * ratio, 6 * ratio]); g.globalAlpha = .8;
  for (const i of list) if (chart.limits[i] && (!chart.joint || shown[i])) {
    g.strokeStyle = mode === "share" ? css("--bad") : chart.colours[i];
    for (const limit of chart.limits[i]) { const y = u.valToPos(scale(i)(limit), "y", true); line(left, y, left + width, y); }
  }
  g.setLineDash([2 * ratio, 4 * ratio]); g.strokeStyle = css("--soft");
  for (const {t} of data.events) { const x = u.valToPos(t, "x", true); line(x, top, x, top + height); }
  g.restore();
}
function build() {
  for (const chart of charts) {
    for (const u of chart.ups) u.destroy();
    chart.plots.replaceChildren(); chart.small = [];
    const every = chart.curves.map((_, i) => i), apart = mode === "each" && chart.joint;
    chart.plots.className = apart ? "plots many" : "plots"; chart.read.hidden = apart;
    chart.units.textContent = " " + (mode === "share" && chart.joint ? (chart.limits.some(l => l) ? "share of the limit" + (chart.limits.length && chart.limits.every(l => l) ? "" : ", or of the peak where there is none") : "share of the peak, there being no limits") : chart.unit);
    if (!apart) { chart.ups = [plot(chart, every, chart.plots, 206)]; continue; }
    const boxes = every.map(i => {
      const value = made("b"), line = made("p", "", dot(chart.colours[i]), chart.names[i] + " ", value), box = made("div", "small", line);
      box.hidden = !shown[i]; chart.plots.append(box); return {box, value};
    });
    chart.ups = boxes.map(({box}, i) => plot(chart, [i], box, 118, true)); chart.small = boxes;
  }
  showValues(); needles();
}
function describe() {
  for (const chart of charts) {
    chart.plots.setAttribute("role", "img");
    const words = chart.curves.map((curve, i) => `${chart.names[i]} up to ${short(peak(curve))}`).join(", ");
    chart.plots.setAttribute("aria-label", `${chart.title} in ${chart.unit} over time: ${words}`);
  }
}
function enlarge(range) { zoom = range; for (const chart of charts) for (const u of chart.ups) u.setData(u.data, true); requestAnimationFrame(needles); }
function needles() {
  for (const chart of charts) for (const u of chart.ups) {
    const x = u.valToPos(now, "x"), out = !(x >= -1 && x <= u.over.clientWidth + 1);
    u.needle.hidden = out; u.needle.style.transform = `translateX(${x}px)`;
  }
}
function showValues() {  // show the values at this time
  const k = nearest(now);
  for (const chart of charts) {
    const cells = chart.small.length ? chart.small.map(s => s.value) : chart.values.map(v => v.b);
    cells.forEach((cell, i) => {
      const y = chart.curves[i][k], unit = chart.small.length ? " " + unitOf(chart, i) : "";
      cell.textContent = mode === "share" && chart.joint ? (y === null ? "-" : shared(chart, i)(y).toFixed(1)) + " %" : short(y) + unit;
    });
    chart.values.forEach((v, i) => { v.span.hidden = chart.joint && !shown[i]; });
  }
}
function unitOf(chart, i) {
  const {unit, force} = joints[i];
  return {q: unit, qd: unit + "/s", qdd: unit + "/s²", tau: force, stop_torque: force}[chart.column] || chart.unit;
}
function stress(i) {  // highlight one joint
  if (mode !== "each") for (const chart of charts) if (chart.joint) for (const u of chart.ups)
    u.setSeries(i === null ? null : u.series.findLastIndex(s => s.joint === i), {focus: i !== null});
}
function show(i, on) {
  shown[i] = on; chips[i].setAttribute("aria-pressed", on);
  for (const chart of charts) if (chart.joint) {
    if (chart.small.length) chart.small[i].box.hidden = !on;
    else for (const u of chart.ups) u.series.forEach((s, k) => { if (s.joint === i) u.setSeries(k, {show: on}); });
  }
}

// ---------------------------------------------------------------- time

let now = first, playing = false, speed = 1, before = 0;
const slider = get("time"), clock = get("clock"), play = get("play"), live = get("live");
function go(t, quiet) {
  now = Math.min(Math.max(t, first), last);
  slider.value = now; clock.textContent = now.toFixed(length < 1 ? 4 : 3) + " s"; slider.setAttribute("aria-valuetext", clock.textContent);
  if (scene) scene.at(now);
  showValues(); needles();
  if (!quiet && !playing) live.textContent = clock.textContent;
}
function run(on) {
  playing = on; play.textContent = on ? "Pause" : "Play"; play.setAttribute("aria-pressed", on);
  if (on) { if (now >= last) go(first, true); before = performance.now(); requestAnimationFrame(tick); } else live.textContent = clock.textContent;
}
function tick(at) {
  if (!playing) return;
  const t = now + Math.max(at - before, 0) / 1000 * speed; before = Math.max(at, before);
  go(t, true);
  if (t >= last) run(false); else requestAnimationFrame(tick);
}
const speeds = [.05, .1, .25, .5, 1, 2, 4];
speed = speeds.filter(s => length / s >= 2).pop() || .05; if (speed > 1) speed = 1;
for (const s of speeds) { const option = made("option", "", s + "×"); option.value = s; option.selected = s === speed; get("speed").append(option); }
get("speed").addEventListener("change", e => { speed = +e.target.value; });
Object.assign(slider, {min: first, max: last, step: length / 1000, value: first});
slider.addEventListener("input", () => { if (playing) run(false); go(+slider.value); });
play.addEventListener("click", () => run(!playing));
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, summary, pre")) return;
  const steps = {ArrowLeft: -1, ArrowRight: 1}[e.key];
  if (e.key === " " && !e.target.closest("button")) run(!playing);
  else if (steps ) { if (playing) run(false); go(now + steps * length / (e.shiftKey ? 10 : 100)); }
  else if (e.key === "Home") go(first); else if (e.key === "End") go(last); else return;
  e.preventDefault();
});
document.querySelectorAll(".jump").forEach(button => button.addEventListener("click", () => { run(false); go(+button.dataset.t); }));

// ---------------------------------------------------------------- joints, files, light and dark, paper

document.querySelectorAll(".joints tbody .dot").forEach(e => { e.style.background = joints[e.dataset.joint].colour; });
const chips = joints.map((joint, i) => {
  const chip = made("button", "chip", dot(joint.colour), joint.name); chip.setAttribute("aria-pressed", shown[i]); chip.title = joint.name;
  chip.addEventListener("click", () => { show(i, !shown[i]); showValues(); });
  for (const [event, on] of [["pointerenter", true], ["pointerleave", false]]) chip.addEventListener(event, () => stress(on ? i : null));
  get("chips").append(chip); return chip;
});
get("all").addEventListener("click", () => { joints.forEach((_, i) => show(i, true)); showValues(); });
get("none").addEventListener("click", () => { joints.forEach((_, i) => show(i, false)); showValues(); });
document.querySelectorAll("#mode input").forEach(input => input.addEventListener("change", () => { mode = input.value; build(); }));

function csv() {
  const columns = [["t", T]];
  for (const chart of charts)
    chart.curves.forEach((curve, i) => columns.push([chart.joint ? chart.column + (i + 1) : `${chart.title} ${chart.names[i]}`.toLowerCase(), curve]));
  const quoted = text => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const rows = Array.from(T, (t, k) => columns.map(([, values], c) => values[k] === null ? "" : c ? +values[k].toPrecision(7) : t).join(","));
  return [columns.map(([name]) => quoted(name)).join(","), ...rows].join("\n") + "\n";
}
function save(blob, name) {
  const link = made("a"), url = URL.createObjectURL(blob);
  link.href = url; link.download = name; link.click(); setTimeout(() => URL.revokeObjectURL(url), 10000);
}
get("csv").addEventListener("click", () => save(new Blob([csv()], {type: "text/csv"}), data.file + ".csv"));
get("png").addEventListener("click", () => { scene.draw(); scene.canvas.toBlob(blob => save(blob, `${data.file}_${now.toFixed(3)}s.png`)); });

function repaint() { if (scene) scene.theme(); for (const chart of charts) for (const u of chart.ups) u.redraw(false, false); needles(); }
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
window.addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; repaint(); if (scene) scene.print(); });
window.addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; repaint(); });
let width = window.innerWidth;
window.addEventListener("resize", () => { if (window.innerWidth !== width) { width = window.innerWidth; fit(); } });
function fit() { for (const chart of charts) for (const u of chart.ups) u.setSize({width: Math.max(u.root.parentElement.clientWidth, 80), height: u.height}); requestAnimationFrame(needles); }

const scene = world(data.picture, get("view"));
if (!scene) { get("png").disabled = true; get("tools").hidden = true; }
build(); describe(); go(first, true);
window.armwright = {data, scene, charts, csv, go, get now() { return now; }};  // for the console of the browser
})();
